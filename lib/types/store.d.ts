import type { ScoringError } from "./errors.js";
import type { VectorCacheOptions } from "./vector-cache.js";

/** A change of the memory that scorers share. */
export type StoreEntry = {
	/** A UUID. An entry whose call is in the store already is not appended again. */
	call: string;
} & (
	| {
			kind: "add";
			/** That of the trace, if it has one; any string of up to 1,024 bytes of UTF-8. */
			id: string | null;
			/** As many float32, little-endian, as the model gives, 384 of the built-in one; to be stored as they are. */
			embedding: Uint8Array;
	  }
	/** Removes what was added before with this `id`, whose stored embeddings are erased. */
	| { kind: "forget"; id: string }
	/** Removes all that was added before, whose entries are deleted. */
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
	/** `null` for other kinds, for an entry of the `append` that returns it, and once erased. */
	embedding: Uint8Array | null;
}

/** What a namespace was created with, and all scorers that use it must have. */
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
	/** That of the namespace. If it is not the one asked with, nothing was appended. */
	header: StoreHeader;
	/** A UUID that changes with the store's past, as when a crash has undone commits. */
	epoch: string;
	/** The `seq` of the newest entry, or `0`. */
	head: number;
	/** The `seq` of the oldest entry that is kept; `1` if none was deleted. */
	first: number;
	/** Whether `entries` start with the oldest in the store, because it does not go on from `after`. */
	reset: boolean;
	entries: StoredEntry[];
}

/** What a store is asked with. */
export interface StoreOptions {
	/** A namespace that does not exist is created with it. */
	header: StoreHeader;
	/** Where to go on; `null` for the oldest entry. */
	after: StorePosition | null;
	/** The greatest number of entries in the page. */
	limit: number;
	/** When it is aborted, nobody waits for the answer any more. */
	signal: AbortSignal;
}

/**
 * An ordered list of changes, one for each namespace, that scorers share; see
 * `@knowledgepulse/scoring-stores` for those on PostgreSQL and SQLite, and for a conformance suite.
 * What its methods reject with counts as unavailable, unless it is a {@link ScoringError} with
 * `"STORE_MISMATCH"` or `"INVALID_STORE"`.
 */
export interface NoveltyStore {
	/**
	 * Appends all entries that are not in the store yet, with consecutive numbers, or none, and returns what
	 * follows `after`. Entries before `keepFrom`, a time as {@link StoredEntry.at}, may be deleted, the
	 * oldest first, when they are a minute old, but never the newest.
	 */
	append(
		entries: StoreEntry[],
		options: StoreOptions & { keepFrom: number | null },
	): Promise<StorePage>;
	/** Returns what follows `after`. */
	read(options: StoreOptions): Promise<StorePage>;
	close(): Promise<void>;
}
