/** A log in memory: the least that a log must do, to copy for a store of your own. */
import { randomUUID } from "node:crypto";

/** The store, which all logs of a test share. A database would be in its place. */
export class MemoryStore {
	namespaces = new Map();
}

/** A `NoveltyLog`. No method waits within, so each is atomic; a database needs a lock. */
export class MemoryLog {
	constructor({ store, namespace }) {
		Object.assign(this, { store, namespace, isClosed: false });
	}

	async append(entries, { keepFrom, ...options }) {
		const log = this.find(options);
		if (!isSame(log.header, options.header)) return refusal(log);
		// Written when the clock was wrong.
		if (log.entries.at(-1)?.at > Date.now() + 86_400_000) {
			for (const entry of log.entries) entry.at = Math.min(entry.at, Date.now());
			log.epoch = randomUUID();
		}
		const calls = new Set(log.entries.map(({ call }) => call));
		const added = entries.filter(({ call }) => !calls.has(call));
		for (const { kind, call, id = null, embedding = null } of added) {
			log.head += 1n;
			const at = Math.max(Date.now(), log.entries.at(-1)?.at ?? 0);
			const copy = embedding && Uint8Array.from(embedding);
			log.entries.push({ seq: log.head, at, kind, call, id, embedding: copy });
		}
		const page = pageOf(log, options);
		for (const { call } of added) this.remove(log, call);
		this.trim(log, keepFrom, 2 * entries.length + 16);
		return page;
	}

	async read(options) {
		const log = this.find(options);
		return isSame(log.header, options.header) ? pageOf(log, options) : refusal(log);
	}

	async close() {
		this.isClosed = true;
	}

	/** Returns the log of the namespace, which the first caller creates. */
	find({ header, signal }) {
		signal.throwIfAborted();
		if (this.isClosed) throw new Error("the log is closed");
		const { namespaces } = this.store;
		if (!namespaces.has(this.namespace))
			namespaces.set(this.namespace, {
				...{ header, epoch: randomUUID(), head: 0n, entries: [] },
			});
		return namespaces.get(this.namespace);
	}

	/** Does what a forget or a clear asks for. */
	remove(log, call) {
		const place = log.entries.findIndex((entry) => entry.call === call);
		const { kind, id } = log.entries[place];
		if (kind === "clear") log.entries.splice(0, place);
		if (kind === "forget")
			for (const entry of log.entries.slice(0, place)) if (entry.id === id) entry.embedding = null;
	}

	/** Deletes the oldest entries; a call that may be repeated is still found for a minute. */
	trim(log, keepFrom, most) {
		if (keepFrom === null) return;
		const end = Math.min(keepFrom, Date.now() - 60_000);
		const young = log.entries.findIndex(({ at }) => at >= end);
		const old = young < 0 ? log.entries.length - 1 : young;
		log.entries.splice(0, Math.min(old, most));
	}
}

const isSame = (one, other) =>
	["model", "maxElements", "ttlMs"].every((key) => one[key] === other[key]);

/** The answer to a caller with another header. */
const refusal = ({ header, epoch, head }) => ({
	...{ header, epoch, head, first: 1n, reset: true, entries: [] },
});

/** Returns the entries after a position, or the oldest if the log does not go on from there. */
function pageOf(log, { after, limit = 0 }) {
	const oldest = log.entries[0]?.seq ?? 1n;
	let start = 0;
	if (after?.epoch === log.epoch && after.seq >= oldest) {
		const place = Number(after.seq - oldest);
		if (log.entries[place]?.call === after.call) start = place + 1;
		// The entry was seen and is gone: what is here now is not the past that others know.
		else log.epoch = randomUUID();
	}
	const entries = log.entries.slice(start, start + limit);
	return {
		...{ header: log.header, epoch: log.epoch, head: log.head, first: oldest },
		reset: start === 0,
		entries: entries.map((entry) => ({ ...entry })),
	};
}
