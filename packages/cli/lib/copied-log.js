/** A log for commands that must not change their store. */

/**
 * Reads the log of a store and answers appends itself, without keeping the entries: the scorer has them.
 * After the first append, entries that others append to the store are not seen.
 */
class CopiedLog {
	#log;
	/** An empty page, with the newest head. */
	#page;
	/** Time of the newest entry. */
	#at = 0;
	#isOwn = false;

	constructor(log) {
		this.#log = log;
	}

	async read(options) {
		if (this.#isOwn) return this.#page;
		const page = await this.#log.read(options);
		this.#page = { ...page, reset: false, entries: [] };
		this.#at = page.entries.at(-1)?.at ?? this.#at;
		return page;
	}

	/** The position after which a scorer appends is the newest entry that it has read. */
	async append(entries, { after }) {
		const head = after?.seq ?? 0n;
		this.#isOwn = true;
		this.#at = Math.max(this.#at, Date.now());
		this.#page.head = head + BigInt(entries.length);
		const logged = entries.map((entry, index) => ({
			...{ id: null, ...entry, embedding: null },
			...{ seq: head + BigInt(index + 1), at: this.#at },
		}));
		return { ...this.#page, reset: after === null, entries: logged };
	}

	close() {
		return this.#log.close();
	}
}

module.exports = { CopiedLog };
