import type {
	NoveltyStore,
	StoreEntry,
	StoreHeader,
	StoreOptions,
	StorePage,
} from "@knowledgepulse/scoring";

/** Options of a {@link SqliteStore}. */
export interface SqliteStoreOptions {
	/**
	 * The file, created if missing, with the permissions of the umask; resolved against the working
	 * directory when the store is constructed. Its folder must exist, be writable and be on a local disk:
	 * SQLite keeps two more files there while the file is open.
	 */
	path: string;
	/** Scorers with the same file and namespace share a memory. 1 to 200 characters except NUL. Default: `"default"`. */
	namespace?: string | undefined;
	/**
	 * Whether every append waits for the disk. Otherwise a crash of the operating system or a power loss
	 * may lose the last ones; a crash of the process loses none. `forget` and `clear` always wait.
	 * Default: `false`.
	 */
	durable?: boolean | undefined;
}

/**
 * A store in an SQLite file, shared by the processes of one machine. From the first call to `close()`, SQLite
 * runs in a thread of the store, or before Node.js 22.16 in a process; it does not keep this process alive.
 *
 * Calls wait for the file's lock until their signal is aborted. They reject with the signal's reason
 * or a `ScoringError`, whose `path` is the file and whose `cause` is SQLite's error, with `code`:
 *
 * - `"STORE_UNAVAILABLE"`: the file cannot be opened, read or written.
 * - `"STORE_MISMATCH"`: it belongs to another application, or to a newer version of this package.
 * - `"INVALID_STORE"`: it is not an SQLite file, it is damaged, or it has triggers, views or tables that are not the store's.
 * - `"INVALID_OPTION"`: an id is longer than 1,024 bytes of UTF-8.
 * - `"CLOSED"`: the store was closed.
 * @example
 * ```ts
 * import { Scorer } from "@knowledgepulse/scoring";
 * import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
 *
 * const store = new SqliteStore({ path: "novelty.db", namespace: "support-bots" });
 * const scorer = new Scorer({ store });
 * ```
 */
export class SqliteStore implements NoveltyStore {
	/**
	 * Does not open the file yet.
	 * @throws `"INVALID_OPTION"`, or `"STORE_UNAVAILABLE"` if Node.js is older than 22.16 and `@photostructure/sqlite` is not
	 * installed, or the program is in an executable of its own.
	 */
	constructor(options: SqliteStoreOptions);
	append(
		entries: StoreEntry[],
		options: StoreOptions & { keepFrom: number | null },
	): Promise<StorePage>;
	read(options: StoreOptions): Promise<StorePage>;
	/** Resolves to the header of the namespace; `null` if there is none, which it does not create. */
	header(options: { signal: AbortSignal }): Promise<StoreHeader | null>;
	/** Resolves to the names of all namespaces, in order. */
	namespaces(options?: { signal?: AbortSignal | undefined }): Promise<string[]>;
	/**
	 * Deletes the entries that were appended before a date, such as `new Date(Date.now() - 30 * 86_400_000)`. Scorers read
	 * what is left with their next call. Returns how many entries were deleted.
	 */
	forgetBefore(date: Date, options?: { signal?: AbortSignal | undefined }): Promise<number>;
	/**
	 * Deletes a namespace. The next call of a scorer that still has it creates it anew, with any bounds. Returns whether it
	 * existed.
	 */
	drop(namespace: string, options?: { signal?: AbortSignal | undefined }): Promise<boolean>;
	/** Ends waiting calls, closes the file and ends the thread or process. May be called again. */
	close(): Promise<void>;
}
