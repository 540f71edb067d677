/** A minimal in-memory store, to copy for your own. */
import { randomUUID } from "node:crypto";

/**
 * A `NoveltyStore`. All stores of a test share one map of namespaces instead of a database. Methods are atomic
 * because they do not await; a database needs a lock.
 */
export class MemoryStore {
	constructor({ namespaces, namespace }) {
		Object.assign(this, { namespaces, namespace, isClosed: false });
	}

	async append(entries, { keepFrom, ...options }) {
		const found = this.find(options);
		if (!isSame(found.header, options.header)) return refusal(found);
		const calls = new Set(found.entries.map(({ call }) => call));
		const added = entries.filter(({ call }) => !calls.has(call));
		for (const { kind, call, id = null, embedding = null } of added) {
			found.head += 1;
			const at = Math.max(Date.now(), found.entries.at(-1)?.at ?? 0);
			const copy = embedding && Uint8Array.from(embedding);
			found.entries.push({ seq: found.head, at, kind, call, id, embedding: copy });
		}
		const page = pageOf(found, options);
		for (const { call } of added) this.remove(found, call);
		this.trim(found, keepFrom, 2 * entries.length + 16);
		return page;
	}

	async read(options) {
		const found = this.find(options);
		return isSame(found.header, options.header) ? pageOf(found, options) : refusal(found);
	}

	async close() {
		this.isClosed = true;
	}

	/** Returns the namespace, which the first caller creates. */
	find({ header, signal }) {
		signal.throwIfAborted();
		if (this.isClosed) throw new Error("the store is closed");
		const { namespaces } = this;
		if (!namespaces.has(this.namespace))
			namespaces.set(this.namespace, { header, epoch: randomUUID(), head: 0, entries: [] });
		return namespaces.get(this.namespace);
	}

	/** Applies a forget or a clear. */
	remove(found, call) {
		const place = found.entries.findIndex((entry) => entry.call === call);
		const { kind, id } = found.entries[place];
		if (kind === "clear") found.entries.splice(0, place);
		if (kind === "forget")
			for (const entry of found.entries.slice(0, place))
				if (entry.id === id) entry.embedding = null;
	}

	/** Deletes the oldest entries. Calls stay findable for a minute, for retries. */
	trim(found, keepFrom, most) {
		if (keepFrom === null) return;
		const end = Math.min(keepFrom, Date.now() - 60_000);
		const young = found.entries.findIndex(({ at }) => at >= end);
		const old = young < 0 ? found.entries.length - 1 : young;
		found.entries.splice(0, Math.min(old, most));
	}
}

const isSame = (one, other) =>
	["model", "maxElements", "ttlMs"].every((key) => one[key] === other[key]);

/** The page for a caller with another header. */
const refusal = ({ header, epoch, head }) => ({
	header,
	epoch,
	head,
	first: 1,
	reset: true,
	entries: [],
});

/** Returns the entries after a position, or from the oldest if the store does not continue from it. */
function pageOf(found, { after, limit = 0 }) {
	const oldest = found.entries[0]?.seq ?? 1;
	let start = 0;
	if (after?.epoch === found.epoch && after.seq >= oldest) {
		const place = after.seq - oldest;
		if (found.entries[place]?.call === after.call) start = place + 1;
		// A known entry is gone, so the history is not the one that others know.
		else found.epoch = randomUUID();
	}
	const entries = found.entries.slice(start, start + limit);
	return {
		header: found.header,
		epoch: found.epoch,
		head: found.head,
		first: oldest,
		reset: start === 0,
		entries: entries.map((entry) => ({ ...entry })),
	};
}
