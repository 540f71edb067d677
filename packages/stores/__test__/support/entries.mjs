/** Entries and calls of a store, for tests. */
import { randomBytes } from "node:crypto";
import fixture from "../../conformance/fixture.js";

export const { callsOf, clear, forget } = fixture;

/** With a buffer, as pages have it. */
export const add = (id, embedding = randomBytes(1536)) => fixture.add(id, embedding);

/** Options of a call. */
export const options = (changes) => fixture.options({ keepFrom: null, ...changes });

/** The position of the last entry of a page. */
export const end = (page) => fixture.positionOf(page, page.entries.at(-1));

/** All entries of a store, read in pages; throws unless the pages are consecutive. */
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
