import type { LogEntry, LogOptions, LogPage, NoveltyLog } from "@knowledgepulse/scoring";

/** What is used of a client of a {@link PostgresPool}. */
export interface PostgresClient {
	on(event: "error", listener: (error: Error) => void): unknown;
	off(event: "error", listener: (error: Error) => void): unknown;
	query(config: object): Promise<{ rows: unknown[] }>;
	/** `true` closes the connection. */
	release(destroy?: boolean): void;
}

/** What is used of a pool: that of `pg`, or one that behaves like it. */
export interface PostgresPool {
	connect(callback: (error: Error | undefined, client?: PostgresClient) => void): void;
	on(event: "error", listener: (error: Error) => void): unknown;
	off(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * Who compares. `"mirror"`: each process, in its memory. `"database"`: PostgreSQL, with pgvector, exactly and
 * with at most 10,000 traces; for processes that live too short to read a log.
 */
export type PostgresCompare = "mirror" | "database";

/**
 * Options of {@link PostgresNoveltyLog}. Either `pool` or `connectionString` is required.
 * @example
 * ```ts
 * import type { PostgresNoveltyLogOptions } from "@knowledgepulse/scoring-stores/postgres";
 * const options: PostgresNoveltyLogOptions = {
 *   connectionString: process.env.DATABASE_URL,
 *   namespace: "support-bots",
 * };
 * ```
 */
export interface PostgresNoveltyLogOptions {
	/**
	 * Your pool, which `close` does not end. The log listens to its `"error"` events until `close`, so that
	 * the loss of an idle connection, which the pool replaces, does not end the process. Its connections
	 * need the isolation level "read committed", which is PostgreSQL's default.
	 */
	pool?: PostgresPool;
	/** Where to connect to, with a pool of at most 4 connections of `pg`, which must be installed. */
	connectionString?: string | undefined;
	/** Traces are compared with those of the same namespace: text of 1 to 200 characters. Default: `"default"`. */
	namespace?: string;
	/**
	 * Whether every call waits until its entries are on disk, as the server's `synchronous_commit` says. If not,
	 * a crash of the server may lose the entries of the last moments (`3 × wal_writer_delay`, 0.6 s by default),
	 * which all processes then take as never added. `forget` and `clear` always wait. Default: `false`.
	 */
	durable?: boolean;
	/** Whether to make the tables and functions if they are missing. Default: `false`. */
	migrate?: boolean;
	/** A namespace is used with one of them only. Default: `"mirror"`. */
	compare?: PostgresCompare;
}

/**
 * A log on PostgreSQL 14 or later, in a database with the encoding UTF8. It needs no extension, unless the
 * database compares (pgvector 0.8.4 or later). Every call is one statement, and keeps no state but that of its transaction, so
 * that it works behind PgBouncer in any mode.
 *
 * Errors are those of `pg`, or a `ScoringError` with one of these codes: `STORE_MISMATCH`: the tables are missing, older or
 * newer, the namespace belongs to another model or way of comparing, or the isolation level is another one;
 * `INVALID_STORE`: the tables contradict each other; `CLOSED`: `close` was called.
 * @example
 * ```ts
 * import { Scorer } from "@knowledgepulse/scoring";
 * import { PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
 * import pg from "pg";
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * const store = new PostgresNoveltyLog({ pool, namespace: "support-bots" });
 * const scorer = new Scorer({ store });
 * ```
 */
export class PostgresNoveltyLog implements NoveltyLog {
	/** @throws `ScoringError` with `code: "INVALID_OPTION"` and the option's name as `path`, or `"STORE_UNAVAILABLE"` if `pg` is not installed. */
	constructor(options: PostgresNoveltyLogOptions);
	append(entries: LogEntry[], options: LogOptions & { keepFrom: number | null }): Promise<LogPage>;
	read(options: LogOptions): Promise<LogPage>;
	/** Only with `compare: "database"`. */
	compare?: NonNullable<NoveltyLog["compare"]>;
	/**
	 * Applies the migrations that the database lacks, each in a transaction. Processes may do so at the same time.
	 * Rejects with `STORE_MISMATCH` if the database has migrations that this version does not know.
	 * @example
	 * ```ts
	 * import { PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
	 * const log = new PostgresNoveltyLog({ connectionString: process.env.DATABASE_URL });
	 * await log.migrate();
	 * await log.close();
	 * ```
	 */
	migrate(options?: { signal?: AbortSignal }): Promise<void>;
	/** Waits for the calls that are under way, and ends the pool unless it was given. Later calls reject. */
	close(): Promise<void>;
}

/**
 * Returns what `migrate` runs, for a migration tool of your own: to be run in one transaction, as
 * `psql --single-transaction` does.
 * @param options.compare The way of comparing that the tables are for. Default: `"mirror"`.
 * @param options.from The newest migration that the database has already. Default: 0.
 * @throws `ScoringError` with `code: "INVALID_OPTION"`.
 * @example
 * ```ts
 * import { migrationSql } from "@knowledgepulse/scoring-stores/postgres";
 * console.log(migrationSql());
 * ```
 */
export function migrationSql(options?: { compare?: PostgresCompare; from?: number }): string;
