/** A store on PostgreSQL: rows in a table, changed by functions that hold the lock of their namespace. */
const { ScoringError } = require("@knowledgepulse/scoring");
const {
	check,
	checkBoolean,
	checkOptions,
	invalidOption,
} = require("@knowledgepulse/scoring/internal/options");
const { guard, withClient } = require("./client.js");
const { isOlder, migrate, migrationSql, mismatch } = require("./migrations.js");
const { checkNamespace } = require("../options.js");
const { call, toPage, writeEntries } = require("./wire.js");

/** How long a statement waits for the lock of its namespace. */
const LOCK_TIMEOUT_MS = 5000;

/** The PostgreSQL errors for a missing schema. */
const UNDEFINED = ["42883", "42P01"];
const UNIQUE_VIOLATION = "23505";
const LACKING =
	"the database lacks the tables or functions of a novelty store: set migrate: true, call migrate(), or run what migrationSql() returns";
/** Raised by the functions of the store. */
const MISMATCH = "KP001";

/** Returns the options with their defaults. */
function readOptions(given) {
	checkOptions(given, ["pool", "connectionString", "namespace", "durable", "migrate"]);
	const { pool, connectionString } = given;
	const { namespace = "default", durable = false, migrate = false } = given;
	if ((pool === undefined) === (connectionString === undefined))
		throw invalidOption(
			"pool",
			"either pool or connectionString",
			pool === undefined ? "neither" : "both",
		);
	const isPool = ["connect", "on", "off"].every((name) => typeof pool?.[name] === "function");
	check(pool === undefined || isPool, "pool", "a pool of pg", pool);
	const isText = connectionString === undefined || typeof connectionString === "string";
	check(isText, "connectionString", "a string", connectionString);
	checkNamespace(namespace);
	checkBoolean("durable", durable);
	checkBoolean("migrate", migrate);
	return { pool, connectionString, namespace, durable, migrate };
}

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
		this.#options = readOptions(options);
		const { pool, connectionString } = this.#options;
		this.#pool = pool ?? makePool(connectionString);
		this.#unguard = guard(this.#pool);
	}

	async append(entries, options) {
		return this.#track(() => this.#append(entries, options));
	}

	async read(options) {
		return this.#track(async () => {
			const parameters = [...this.#place(options), options.limit];
			const rows = await this.#call(options.signal, "kp_novelty_read_v1", parameters);
			// No rows: the namespace or a new epoch must be created.
			return rows.length > 0 ? toPage(rows) : this.#append([], { ...options, keepFrom: null });
		});
	}

	async migrate(options = {}) {
		checkOptions(options, ["signal"]);
		return this.#track(() => migrate(this.#pool, options.signal));
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
		const { limit, keepFrom, signal } = options;
		const parameters = [
			...this.#place(options),
			limit,
			keepFrom,
			this.#options.durable,
			LOCK_TIMEOUT_MS,
			...writeEntries(entries),
		];
		return toPage(await this.#call(signal, "kp_novelty_append_v1", parameters));
	}

	/** Makes `close` wait for a call. */
	async #track(work) {
		if (this.#closing) throw new ScoringError("the store is closed", { code: "CLOSED" });
		const call = work();
		this.#calls.add(call);
		try {
			return await call;
		} finally {
			this.#calls.delete(call);
		}
	}

	/** Returns the first parameters of every function: namespace, header and position. */
	#place({ header: { model, maxElements, ttlMs }, after }) {
		const { epoch = null, seq = null, call = null } = after ?? {};
		return [this.#options.namespace, model, maxElements, ttlMs, epoch, seq, call];
	}

	/** Calls a function of the database; first applies missing migrations if `migrate` allows it. */
	async #call(signal, name, parameters) {
		const run = () => withClient(this.#pool, signal, (client) => call(client, name, parameters));
		try {
			try {
				return await run();
			} catch (error) {
				if (!UNDEFINED.includes(error?.code)) throw error;
				if (this.#options.migrate) await migrate(this.#pool, signal);
				else if (await isOlder(this.#pool, signal)) throw mismatch(LACKING);
				return await run();
			}
		} catch (error) {
			throw this.#toError(error);
		}
	}

	#toError(error) {
		if (error?.code === MISMATCH) return mismatch(error.message);
		if (error?.code === UNIQUE_VIOLATION && error.table === "kp_novelty_entries")
			return new ScoringError(
				`namespace "${this.#options.namespace}" has entries beyond its head: ${error.message}`,
				{ code: "INVALID_STORE", cause: error },
			);
		return error;
	}
};

exports.migrationSql = migrationSql;
