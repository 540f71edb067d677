/** Entries and calls of a store, for tests. */
import { randomBytes, randomUUID } from "node:crypto";

export const HEADER = { model: "test", maxElements: 1000, ttlMs: null };

export const add = (id = null, embedding = randomBytes(1536)) => ({
	kind: "add",
	call: randomUUID(),
	id,
	embedding,
});
export const forget = (id) => ({ kind: "forget", call: randomUUID(), id });
export const clear = () => ({ kind: "clear", call: randomUUID() });

/** Options of a call. */
export const options = (changes) => ({
	header: HEADER,
	after: null,
	limit: 1000,
	keepFrom: null,
	signal: new AbortController().signal,
	...changes,
});

export const callsOf = (entries) => entries.map(({ call }) => call);

/** The position of the last entry of a page. */
export function end({ epoch, entries }) {
	const { seq, call } = entries.at(-1);
	return { epoch, seq, call };
}

/** Everything in a store, read in pages; throws if the pages do not go on from one another. */
export async function readAll(store, changes) {
	const pages = [await store.read(options(changes))];
	const entries = [...pages[0].entries];
	while (entries.length > 0 && entries.at(-1).seq < pages[0].head) {
		const page = await store.read(options({ after: end(pages.at(-1)), ...changes }));
		if (page.reset || page.entries[0]?.seq !== entries.at(-1).seq + 1)
			throw new Error(`a gap after entry ${entries.at(-1).seq}`);
		pages.push(page);
		entries.push(...page.entries);
	}
	return entries;
}
