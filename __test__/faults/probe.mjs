/** Scores a few traces under difficult conditions. Runs in child processes. */

import { closeSync, mkdtempSync, openSync, readFileSync, rmdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { says } from "../support/traces.mjs";

export const TRACES = [
	"one river stone",
	"two lantern copper archive",
	"three harbour meadow engine ledger",
	"four winter canvas and a violin",
].map(says);

/** Scores all traces at once; returns the score or the error of each, with its reason. */
export async function probe(scorer, traces = TRACES) {
	const calls = traces.map((trace) => scorer.explainValue(trace));
	return (await Promise.allSettled(calls)).map(({ value, reason }) => {
		if (!value) return { code: reason.code, reason: reason.message };
		const { source, reason: why } = value.novelty;
		return { score: value.score, source, reason: why };
	});
}

/** As {@link probe}, in a process that may score without the embedder, with a warning. */
export function probeQuietly(scorer) {
	process.emitWarning = () => {};
	return probe(scorer);
}

/** Returns the score of each trace alone, behind each other one, and without the embedder. */
export async function measure(scoring) {
	const last = async (...traces) => {
		const scorer = new scoring.Scorer({ embedder: "required" });
		let score;
		for (const trace of traces) score = await scorer.evaluateValue(trace);
		return score;
	};
	const table = [];
	for (const trace of TRACES) {
		const behind = [];
		for (const before of TRACES) behind.push(await last(before, trace));
		table.push({ alone: await last(trace), behind });
	}
	process.emitWarning = () => {};
	const off = new scoring.Scorer({ embedder: "off" });
	const without = [];
	for (const trace of TRACES) without.push(await off.evaluateValue(trace));
	return { table, without };
}

/** Does the same as a score in Node.js, without the addon. */
export async function withoutAddon() {
	const files = ["../lib/scorer.js", "../lib/batch.js", "../index.d.ts"];
	await Promise.all(files.map((file) => readFile(file)));
	return "done";
}

/** Scores with `free` file descriptors left, and then with enough of them. */
export async function scoreWithFree(scoring, free) {
	const held = [];
	let isFull = false;
	while (!isFull) {
		try {
			held.push(openSync("/dev/null"));
		} catch (error) {
			if (error.code !== "EMFILE") throw error;
			isFull = true;
		}
	}
	for (const file of held.splice(0, free)) closeSync(file);
	const exhausted = await probeQuietly(scoring);
	for (const file of held) closeSync(file);
	scoring.configure({});
	await scoring.clear();
	return { exhausted, after: await probe(scoring) };
}

/** Scores one trace; once the system gives no more threads, scores the others and that one concurrently. */
export async function scoreWithoutMore(scoring, _, send) {
	await probe(scoring, TRACES.slice(0, 1));
	await scoring.clear();
	send("loaded");
	const isLimited = () => /^Max processes +1 /m.test(readFileSync("/proc/self/limits", "utf8"));
	while (!isLimited()) await sleep(5);
	return probe(scoring, [...TRACES.slice(1), TRACES[0]]);
}

/** Scores; returns also which of the folders are writable, and the code with which saving fails. */
export async function scoreAndWrite(scoring, folders) {
	const writable = folders.filter((folder) => {
		try {
			rmdirSync(mkdtempSync(`${folder}/trust-`));
			return true;
		} catch {
			return false;
		}
	});
	const found = await probe(scoring);
	const saving = new scoring.Scorer().save("/tmp/snapshot").catch(({ code }) => code);
	return { found, writable, saved: await saving };
}
