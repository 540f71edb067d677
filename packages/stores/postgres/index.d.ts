import type {
	NoveltyStore,
	StoreEntry,
	StoreHeader,
	StoreOptions,
	StorePage,
} from "@knowledgepulse/scoring";

/** The part of a {@link PostgresPool}'s client that is used. */
export interface PostgresClient {
	on(event: "error", listener: (error: Error) => void): unknown;
	off(event: "error", listener: (error: Error) => void): unknown;
	query(config: object | string): Promise<{ rows: unknown[] }>;
	/** `true` closes the connection. */
	release(destroy?: boolean): void;
}

/** The part of a pool that is used: a pool of `pg`, or one that behaves like it. */
export interface PostgresPool {
	connect(callback: (error: Error | undefined, client?: PostgresClient) => void): void;
	on(event: "error", listener: (error: Error) => void): unknown;
}

/** Options of {@link PostgresStore}. Either `pool` or `connectionString` is required. */
export interface PostgresStoreOptions {
	/**
	 * Your pool, not one of `pg.native`; `close` does not end it. The store listens to its `"error"` events for good, so that losing an idle
	 * connection, or one that is closing, does not end the process.
	 */
	pool?: PostgresPool | undefined;
	/** Where to connect, with a pool of at most 4 connections; needs `pg`. */
	connectionString?: string | undefined;
	/** Scorers with the same namespace share a memory. 1 to 200 characters. Default: `"default"`. */
	namespace?: string | undefined;
	/**
	 * Whether every call waits until its entries are on disk, by the server's `synchronous_commit`. Otherwise a crash of
	 * the server may lose the entries of the last `3 × wal_writer_delay`, 0.6 s by default; all processes then treat them
	 * as never added. `forget` and `clear` always wait. Default: `false`.
	 */
	durable?: boolean | undefined;
	/**
	 * Whether to make the tables and functions if they are missing. The schema must then belong to the role of the pool, or to
	 * a superuser. Default: `false`.
	 */
	migrate?: boolean | undefined;
}

/**
 * A store on PostgreSQL 14 or later, in a database with the encoding UTF8, without extensions. Its tables and functions
 * are in the schema `kp_novelty`. Every call of a scorer is one statement with parameters, without state outside its transaction, so
 * PgBouncer works in any mode. If the default isolation level is not "read committed", a call takes three round trips.
 *
 * Rejects with the errors of `pg`, or with a `ScoringError` with one of these codes: `STORE_MISMATCH`: the tables are missing, older or
 * newer, or belong to another role; `INVALID_STORE`: the tables contradict each other; `INVALID_OPTION`: an id is longer
 * than 1,024 bytes of UTF-8; `CLOSED`: `close` was called.
 * @example
 * ```ts
 * import { Scorer } from "@knowledgepulse/scoring";
 * import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
 * import pg from "pg";
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * const store = new PostgresStore({ pool, namespace: "support-bots" });
 * const scorer = new Scorer({ store });
 * ```
 */
export class PostgresStore implements NoveltyStore {
	/** @throws `ScoringError` with `code: "INVALID_OPTION"` and the option's name as `path`, or `"STORE_UNAVAILABLE"` if `pg` is not installed. */
	constructor(options: PostgresStoreOptions);
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
	/**
	 * Applies the migrations that the database lacks, each in a transaction. Several processes may do so at the same
	 * time; each waits 5 seconds for a lock. Rejects with `STORE_MISMATCH` if the database has migrations that this
	 * version does not know, or its schema `kp_novelty` belongs neither to the current role nor to a superuser.
	 * @example
	 * ```ts
	 * import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
	 * const store = new PostgresStore({ connectionString: process.env.DATABASE_URL });
	 * await store.migrate();
	 * await store.close();
	 * ```
	 */
	migrate(options?: { signal?: AbortSignal | undefined }): Promise<void>;
	/**
	 * Waits for pending calls, and ends the pool unless it was passed in; a connection that is being made delays this by
	 * up to 10 seconds. Later calls reject.
	 */
	close(): Promise<void>;
}

/**
 * Returns the SQL that `migrate` runs, for your own migration tool: run it in one transaction, as
 * `psql --single-transaction` does.
 * @example
 * ```ts
 * import { migrationSql } from "@knowledgepulse/scoring-stores/postgres";
 * console.log(migrationSql());
 * ```
 */
export function migrationSql(): string;
