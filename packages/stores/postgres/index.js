/** A store on PostgreSQL: rows in a table, changed by functions that hold the lock of their namespace. */
const { ScoringError } = require("@knowledgepulse/scoring");
const {
	invalidOption,
	kind,
	kinds,
	readOptions,
} = require("@knowledgepulse/scoring/internal/options");
const { guard, withClient } = require("./client.js");
const { isOlder, migrate, migrationSql, mismatch } = require("./migrations.js");
const { SHARED, readStoreOptions } = require("../options.js");
const { callFunction, toPage, writeEntries } = require("./wire.js");

/** How long a statement waits for the lock of its namespace. */
const LOCK_TIMEOUT_MS = 5000;

/** The PostgreSQL errors for a missing schema. */
const UNDEFINED = ["42883", "42P01"];
const UNIQUE_VIOLATION = "23505";
const LACKING =
	"the database lacks the tables or functions of a novelty store: set migrate: true, call migrate(), or run what migrationSql() returns";
/** Raised by the functions of the store. */
const MISMATCH = "KP001";

const OPTIONS = {
	pool: kind("a pool of pg", (pool) =>
		["connect", "on", "off"].every((name) => typeof pool?.[name] === "function"),
	),
	connectionString: kinds.text,
	...SHARED,
	migrate: kinds.flag,
};

function makePool(connectionString) {
	let pg;
	try {
		pg = require("pg");
	} catch (cause) {
		throw new ScoringError("connectionString: the package pg is required", {
			code: "STORE_UNAVAILABLE",
			path: "connectionString",
			cause,
		});
	}
	return new pg.Pool({
		connectionString,
		// A scorer makes one append at a time, but an abandoned connection may still be connecting.
		max: 4,
		connectionTimeoutMillis: 10_000,
		allowExitOnIdle: true,
		keepAlive: true,
	});
}

exports.PostgresStore = class PostgresStore {
	#options;
	#pool;
	#unguard;
	#calls = new Set();
	#closing;

	constructor(options) {
		this.#options = readStoreOptions(options, OPTIONS);
		const { pool, connectionString } = this.#options;
		if ((pool === undefined) === (connectionString === undefined)) {
			const found = pool === undefined ? "neither" : "both";
			throw invalidOption("pool", "either pool or connectionString", found);
		}
		this.#pool = pool ?? makePool(connectionString);
		this.#unguard = guard(this.#pool);
	}

	async append(entries, options) {
		return this.#track(() => this.#append(entries, options));
	}

	async read(options) {
		return this.#track(async () => {
			const rows = await this.#call("kp_novelty_read_v1", options);
			// No rows: the namespace or a new epoch must be created.
			return rows.length > 0 ? toPage(rows) : this.#append([], { ...options, keepFrom: null });
		});
	}

	async migrate(options = {}) {
		const { signal } = readOptions(options, { signal: kinds.signal });
		return this.#track(() => migrate(this.#pool, signal));
	}

	close() {
		this.#closing ??= (async () => {
			await Promise.allSettled(this.#calls);
			if (!this.#options.pool) await this.#pool.end();
			this.#unguard();
		})();
		return this.#closing;
	}

	async #append(entries, options) {
		const { durable } = this.#options;
		const more = [options.keepFrom, durable, LOCK_TIMEOUT_MS, ...writeEntries(entries)];
		return toPage(await this.#call("kp_novelty_append_v1", options, more));
	}

	/** Makes `close` wait for a call. */
	async #track(work) {
		if (this.#closing) throw new ScoringError("the store is closed", { code: "CLOSED" });
		const call = work();
		this.#calls.add(call);
		return call.finally(() => this.#calls.delete(call));
	}

	/** Calls a function of the database; first applies missing migrations if `migrate` allows it. */
	async #call(name, { header, after, limit, signal }, more = []) {
		const { namespace } = this.#options;
		const { model, maxElements, ttlMs } = header;
		const { epoch = null, seq = null, call = null } = after ?? {};
		const place = [namespace, model, maxElements, ttlMs, epoch, seq, call, limit];
		const run = () =>
			withClient(this.#pool, signal, (client) => callFunction(client, name, [...place, ...more]));
		try {
			return await run().catch(async (error) => {
				if (!UNDEFINED.includes(error?.code)) throw error;
				if (this.#options.migrate) await migrate(this.#pool, signal);
				else if (await isOlder(this.#pool, signal)) throw mismatch(LACKING);
				return run();
			});
		} catch (error) {
			if (error?.code === MISMATCH) throw mismatch(error.message);
			if (error?.code === UNIQUE_VIOLATION && error.table === "kp_novelty_entries")
				throw new ScoringError(
					`namespace "${namespace}" has entries beyond its head: ${error.message}`,
					{ code: "INVALID_STORE", cause: error },
				);
			throw error;
		}
	}
};

exports.migrationSql = migrationSql;
