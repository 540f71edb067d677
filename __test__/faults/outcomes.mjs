/** Runs the functions of probe.mjs, and judges the results. */

import { spawnSync } from "node:child_process";
import { assertQuiet, run } from "../support/child.mjs";

/** The ways in which a model is run. */
export const CONFIGURATIONS = [
	{ name: "ONNX Runtime, exact", backend: "onnx", precision: "exact" },
	{ name: "native", backend: "native", precision: "exact" },
	{ name: "native, fast", backend: "native", precision: "fast" },
];

/** The environment variables of a configuration. */
export const environment = ({ backend, precision }) => ({
	KNOWLEDGEPULSE_SCORING_BACKEND: backend,
	KNOWLEDGEPULSE_SCORING_PRECISION: precision,
});

/** Runs the function `name` of probe.mjs; for the other options see `run`. */
export function call(name, { input, ...options } = {}) {
	const body = async ({ scoring, input: { name, input }, send }) => {
		const module = await import("./faults/probe.mjs");
		return module[name](scoring, input, send);
	};
	return run(body, { ...options, input: { name, input } });
}

/** What ONNX Runtime prints without a descriptor for this file; it then asks the system in another way. */
const OF_LIBRARY = "Error in cpuinfo: failed to parse processor information from /proc/cpuinfo\n";

/** As {@link call}, for a function that must succeed and print nothing. Returns its result. */
export async function quietly(name, options) {
	const ended = await call(name, options);
	assertQuiet({ ...ended, stderr: ended.stderr.replace(OF_LIBRARY, "") });
	return ended.value;
}

const measured = new Map();

/** The scores that a configuration gives without any fault, measured once. */
export async function rightScores(configuration) {
	const { name } = configuration;
	if (!measured.has(name))
		measured.set(name, await quietly("measure", { env: environment(configuration) }));
	return measured.get(name);
}

/** Codes of rejections for missing requirements. */
const TYPED = ["EMBEDDER_UNAVAILABLE", "LIBRARY_UNAVAILABLE", "NO_THREADS"];

/**
 * Judges a result of `probe`: "right" if all scores are right, "unavailable" if one is the score without an
 * embedder, "rejected" if one is a typed error; the reason must contain `naming`. Throws for anything else. Scores with an
 * embedding may differ by `tolerance`.
 */
export function judge(found, { table, without }, naming = "", tolerance = 0) {
	const embedded = [];
	const kinds = found.map(({ score, source, code, reason }, i) => {
		if (score !== undefined && source !== "no-embedder") {
			const { alone, behind } = table[i];
			// The nearest earlier trace gives the lowest score.
			const right = Math.min(...embedded.map((j) => behind[j]), 2);
			expect(score, embedded.length > 0 ? right : alone, tolerance);
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

function expect(score, right, tolerance = 0) {
	if (!(Math.abs(score - right) <= tolerance))
		throw new Error(`the score is ${score}, expected ${right}`);
}

/** Counts outcomes; as text, "3 right, 1 rejected". */
export function tally() {
	const counts = new Map();
	return {
		add: (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1),
		toString: () => [...counts].map(([kind, n]) => `${n} ${kind}`).join(", "),
	};
}

/** Whether a command runs another one. */
export function works(under) {
	const [command, ...args] = [...under, process.execPath, "-e", "0"];
	return spawnSync(command, args).status === 0;
}

/** A command that runs another one as a user without processes; undefined where that is impossible. */
export function asNobody() {
	const id = 61_000 + (process.pid % 1000);
	const become = ["setpriv", `--reuid=${id}`, `--regid=${id}`, "--clear-groups"];
	return process.getuid?.() === 0 && works(become) ? become : undefined;
}
