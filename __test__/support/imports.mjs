/** Conversations to import, and results of imports. */
import assert from "node:assert/strict";

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
