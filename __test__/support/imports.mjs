/** Conversations to import, logs, and results of imports. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The logs that were written for the tests; their results have texts and inputs in full. */
export const written = pathOf("../logs");

/** Beside the repository there may be recorded logs, whose results have digests. */
const recorded = ["logs", "logs-2", "logs-3"].map((name) => pathOf(`../../../shared/${name}`));
export const logRoots = [written, ...recorded];

/**
 * Recorded logs whose results later rules change: a fork has the id of its last session; NaN is read; outputs that are JSON
 * stay so, and what follows a result is said after it; Goose's messages may stand in lines; sessions of Codex before 0.32 are
 * messages.
 */
const changed = [
	"claude-code/written-traps.jsonl",
	"errors/written-nan.json",
	"ai-sdk/written-parts.json",
	"codex/old-layout.jsonl",
	"errors/goose.jsonl",
];

/** What a log of a known format without a trace says by a later rule. */
const withWord = (log) =>
	log.traces.length + log.errors.length > 0
		? log
		: { ...log, errors: [{ line: null, code: "NO_TRACE" }] };

/**
 * Returns all logs, by folder: the paths of the files, and their results.
 * @returns {{ root: string, name: string, paths: string[], golden: any[] }[]}
 */
export const readLogs = () =>
	logRoots.filter(existsSync).flatMap((root) =>
		readdirSync(join(root, "golden"))
			// Results with other options are separate.
			.filter((file) => file !== "options.json")
			.map((file) => {
				// A later specification changes these results.
				const newer = join(root, "../logs-3/golden-of", basename(root), file);
				const path = existsSync(newer) ? newer : join(root, "golden", file);
				const all = JSON.parse(readFileSync(path, "utf8"));
				const golden =
					root === written ? all : all.filter(({ file }) => !changed.includes(file)).map(withWord);
				const paths = golden.map(({ file }) => join(root, file));
				return { root, name: basename(file, ".json"), paths, golden };
			}),
	);

/** Messages of one run, which asks for `objective`. */
export const conversation = (objective, answer = "Done.") => [
	{ role: "user", content: objective },
	{ role: "assistant", content: answer },
];

/** Runs as the lines of a log, each with its line end. */
export const lines = (...objectives) =>
	objectives.map((text) => `${JSON.stringify({ messages: conversation(text) })}\n`).join("");

/** The option with which `lines` become traces. */
export const assumed = { assumeSuccess: true };

/** All items of an import. */
export async function all(imported) {
	const items = [];
	for await (const item of imported) items.push(item);
	return items;
}

/** The objectives of traces, and the codes of errors. */
export const summary = (items) =>
	items.map(({ trace, error }) => trace?.task.objective ?? error.code);

/** The objectives and codes of an import. */
export const summaryOf = async (imported) => summary(await all(imported));

/** The chunks as a stream, which records the chunks read and whether it was closed. */
export function chunked(chunks) {
	const state = { read: 0, isClosed: false };
	async function* stream() {
		try {
			for (const chunk of chunks) {
				state.read += 1;
				yield chunk;
			}
		} finally {
			state.isClosed = true;
		}
	}
	return Object.assign(stream(), { state });
}

/** Fails unless the promise rejects with an ImportError; returns it. */
export async function importErrorOf(promise) {
	const error = await promise.then(
		() => assert.fail("not rejected"),
		(thrown) => thrown,
	);
	assert.equal(error.name, "ImportError", String(error));
	return error;
}
