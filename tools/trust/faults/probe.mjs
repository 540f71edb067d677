/** What a scorer makes of a few traces, and whether that is right. */
import { readFile } from "node:fs/promises";
import { says } from "../../../__test__/support/traces.mjs";

export const TRACES = [
	"one river stone",
	"two lantern copper archive",
	"three harbour meadow engine ledger",
	"four winter canvas and a violin",
].map(says);

/** Scores the traces, all in flight at once; returns how each score came about. */
export async function probe(scorer, traces) {
	const calls = traces.map((trace) => scorer.explainValue(trace));
	return (await Promise.allSettled(calls)).map(({ value, reason }) => {
		if (!value) return { code: reason.code, reason: reason.message };
		const { source, reason: why } = value.novelty;
		return { score: value.score, source, reason: why };
	});
}

/** As {@link probe}, in a process that may have to do without the embedder, and warns of that. */
export function probeQuietly(scorer, traces) {
	process.emitWarning = () => {};
	return probe(scorer, traces);
}

/** The scores of every trace alone, and behind every other one, without any fault. */
export async function measure(scoring, traces) {
	const last = async (...some) => {
		const scorer = new scoring.Scorer({ embedder: "required" });
		let score;
		for (const trace of some) score = await scorer.evaluateValue(trace);
		return score;
	};
	const table = [];
	for (const trace of traces) {
		const behind = [];
		for (const before of traces) behind.push(await last(before, trace));
		table.push({ alone: await last(trace), behind });
	}
	// The warning that the embedder is off.
	process.emitWarning = () => {};
	const off = new scoring.Scorer({ embedder: "off" });
	const without = [];
	for (const trace of traces) without.push(await off.evaluateValue(trace));
	return { table, without };
}

/** Scores; returns the time since the start of the process, and that of the processor. */
export async function firstScore(scoring, trace) {
	await scoring.evaluateValue(trace);
	const { user, system } = process.cpuUsage();
	return { clock: performance.now(), processor: (user + system) / 1000 };
}

/** What Node.js itself does for a score, without the addon. */
export async function withoutAddon() {
	const files = ["../lib/scorer.js", "../lib/batch.js", "../index.d.ts"];
	await Promise.all(files.map((file) => readFile(file)));
	return "done";
}

/** Codes with which a call may reject when something that it needs is missing. */
const TYPED = ["EMBEDDER_UNAVAILABLE", "NO_THREADS"];

/**
 * Judges what {@link probe} gave: "right" where all scores are, "unavailable" where one is that of the
 * mode without the embedder, "rejected" where one has a typed error, for a reason with `naming` in it.
 * Anything else throws.
 */
export function judge(found, { table, without }, naming = "") {
	const embedded = [];
	const kinds = found.map(({ score, source, code, reason }, i) => {
		if (score !== undefined && source !== "no-embedder") {
			const { alone, behind } = table[i];
			// The nearest of those before it makes the score smallest.
			const right = Math.min(...embedded.map((j) => behind[j]), 2);
			expect(score, embedded.length > 0 ? right : alone);
			embedded.push(i);
			return "right";
		}
		if (!reason?.includes(naming)) throw new Error(`the reason does not name ${naming}: ${reason}`);
		if (code !== undefined) {
			if (!TYPED.includes(code)) throw new Error(`code ${code}: ${reason}`);
			return "rejected";
		}
		expect(score, without[i]);
		return "unavailable";
	});
	return ["rejected", "unavailable"].find((kind) => kinds.includes(kind)) ?? "right";
}

function expect(score, right) {
	if (!Object.is(score, right))
		throw new Error(`a wrong score: ${score}, which should be ${right}`);
}

/** Counts of outcomes, as text. */
export function tally() {
	const counts = new Map();
	return {
		add: (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1),
		get total() {
			return [...counts.values()].reduce((sum, count) => sum + count, 0);
		},
		toString: () => [...counts].map(([kind, n]) => `${n} ${kind}`).join(", ") || "nothing",
	};
}
