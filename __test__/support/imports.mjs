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

/** Recorded logs whose results later rules change: a fork has the id of its last session, and NaN is read. */
const changed = ["claude-code/written-traps.jsonl", "errors/written-nan.json"];

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
				const golden = JSON.parse(readFileSync(path, "utf8")).filter(
					({ file }) => root === written || !changed.includes(file),
				);
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
