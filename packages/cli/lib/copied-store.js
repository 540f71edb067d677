/** A read-only copy of a store, for commands that must not change it. */

/**
 * Reads a store, and answers appends itself without keeping the entries, because the scorer keeps
 * them. After the first append, later entries of others are not seen.
 */
class CopiedStore {
	#store;
	/** An empty page, with the newest head. */
	#page;
	/** Time of the newest entry. */
	#at = 0;
	#isOwn = false;

	constructor(store) {
		this.#store = store;
	}

	async read(options) {
		if (this.#isOwn) return this.#page;
		const page = await this.#store.read(options);
		this.#page = { ...page, reset: false, entries: [] };
		this.#at = page.entries.at(-1)?.at ?? this.#at;
		return page;
	}

	/** The position after which a scorer appends is the newest entry that it has read. */
	async append(entries, { after }) {
		const head = after?.seq ?? 0;
		this.#isOwn = true;
		this.#at = Math.max(this.#at, Date.now());
		this.#page.head = head + entries.length;
		const stored = entries.map((entry, index) => ({
			id: null,
			...entry,
			embedding: null,
			seq: head + index + 1,
			at: this.#at,
		}));
		return { ...this.#page, reset: after === null, entries: stored };
	}

	close() {
		return this.#store.close();
	}
}

module.exports = { CopiedStore };
