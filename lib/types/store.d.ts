import type { ScoringError } from "./errors.js";
import type { VectorCacheOptions } from "./vector-cache.js";

/** A change of a store. */
export type StoreEntry = {
	/** A UUID. An entry whose `call` is already in the store is not appended again. */
	call: string;
} & (
	| {
			kind: "add";
			/** The `id` of the trace, if it has one: as all ids, any string of up to 1,024 bytes of UTF-8. */
			id: string | null;
			/** The vector as little-endian float32, 384 for the built-in model; to be stored unchanged. */
			embedding: ReturnType<typeof Uint8Array.of>;
	  }
	/** Removes earlier adds with this `id`; their stored embeddings are erased. */
	| { kind: "forget"; id: string }
	/** Removes all earlier adds; their entries are deleted. */
	| { kind: "clear" }
);

/** An entry in its place in the store. */
export interface StoredEntry {
	/** Its number in the namespace, from 1, without gaps. */
	seq: number;
	/**
	 * When it was appended, in whole milliseconds since 1970 by the store's clock. Never less than that of
	 * the entry before, even if the clock was set back.
	 */
	at: number;
	kind: "add" | "forget" | "clear";
	call: string;
	id: string | null;
	/** `null` for other kinds, for entries appended by the same call, and once erased. */
	embedding: Uint8Array | null;
}

/** The properties of a namespace, which all its scorers must share. */
export interface StoreHeader {
	/** The fingerprint of the model. */
	model: string;
	/** See {@link VectorCacheOptions}. */
	maxElements: number;
	ttlMs: number | null;
}

/** The last entry that a scorer has applied. */
export interface StorePosition {
	epoch: string;
	seq: number;
	call: string;
}

/** Consecutive entries of a store. */
export interface StorePage {
	/** The header of the namespace. If it differs from that of the request, nothing was appended. */
	header: StoreHeader;
	/** A UUID that changes if the store's history changes, for example when a crash has undone commits. */
	epoch: string;
	/** The `seq` of the newest entry, or `0`. */
	head: number;
	/** The `seq` of the oldest entry that is kept; `1` if none was deleted. */
	first: number;
	/** Whether `entries` start with the oldest in the store, because they cannot continue after `after`. */
	reset: boolean;
	entries: StoredEntry[];
}

/** Options of a request to a store. */
export interface StoreOptions {
	/** A namespace that does not exist is created with it. */
	header: StoreHeader;
	/** The entry to continue after; `null` to start with the oldest. */
	after: StorePosition | null;
	/** The greatest number of entries in the page. */
	limit: number;
	/** Aborted when the answer is no longer needed. */
	signal: AbortSignal;
}

/**
 * An ordered list of changes, one for each namespace, that scorers share: `@knowledgepulse/scoring-stores` has
 * those on PostgreSQL and SQLite, and a conformance suite. If a method rejects, the store is unavailable, unless
 * the error is a {@link ScoringError} with `"STORE_MISMATCH"` or `"INVALID_STORE"`.
 */
export interface NoveltyStore {
	/**
	 * Appends the entries that are not in the store yet, all or none, with consecutive numbers. Returns the
	 * entries after `after`. Entries before the time `keepFrom` (as {@link StoredEntry.at}) may be deleted
	 * once they are a minute old, the oldest first, but never the newest.
	 */
	append(
		entries: StoreEntry[],
		options: StoreOptions & { keepFrom: number | null },
	): Promise<StorePage>;
	/** Returns the entries after `after`. */
	read(options: StoreOptions): Promise<StorePage>;
	close(): Promise<void>;
}
