/** A store on PostgreSQL: rows in a table, changed by functions that hold the lock of their namespace. */
const { ScoringError } = require("@knowledgepulse/scoring");
const { invalidOption, kind, kinds } = require("@knowledgepulse/scoring/internal/options");
const { LOCK_TIMEOUT_MS, guard, inTransaction, withClient } = require("./client.js");
const { claim, isOlder, migrate, migrationSql, mismatch } = require("./migrations.js");
const { SHARED, checkIds, readRemoval, readSignal, readStoreOptions } = require("../options.js");
const { callFunction, namesOf, removeBy, writeEntries } = require("./wire.js");

/** The PostgreSQL errors for missing schemas, tables and functions. */
const UNDEFINED = ["3F000", "42883", "42P01"];
/** Those for an isolation level that others' commits are invisible at, also on a standby. */
const ISOLATION = ["KP001", "0A000"];
/** A number at the end of its type. */
const OUT_OF_RANGE = "22003";
const LACKING =
	"the database lacks the tables or functions of a novelty store: kp-score store init makes them, or migrate: true, migrate() or what migrationSql() returns";

const OPTIONS = {
	pool: kind("a pool of pg, not a client", (pool) => {
		const isMethod = (name) => typeof pool?.[name] === "function";
		return isMethod("connect") && isMethod("on") && !isMethod("getTypeParser");
	}),
	connectionString: kinds.text,
	...SHARED,
	migrate: kinds.flag,
};

/** Whether a page has every entry. Between two statements of one append, somebody may have deleted rows by hand. */
function isWhole({ head, first, reset, entries }, { after, limit }) {
	const start = reset ? first : (after?.seq ?? 0) + 1;
	const count = Math.min(limit, head + 1 - start);
	return entries.length === count && (count === 0 || entries.at(-1).seq === start + count - 1);
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
	try {
		// The pool reads it when it connects.
		new pg.Client({ connectionString });
	} catch ({ message }) {
		const found = `one with the error: ${message}`;
		throw invalidOption("connectionString", "a connection string of pg", found);
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
	/** Whether calls need a transaction of their own because of the default isolation level. */
	#needsTransaction = false;
	/** Whether the schema is known to be no newer and, if it may be migrated, that of this role or a superuser. */
	#isChecked = false;
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
		const { Client } = this.#pool;
		// Those of pg.native ignore `types`, and have no binary parameters.
		if (Client && !("escapeLiteral" in Client.prototype))
			throw invalidOption("pool", "a pool of the JavaScript client of pg", "one of pg.native");
		guard(this.#pool);
	}

	async append(entries, options) {
		return this.#track(() => this.#append(entries, options));
	}

	async read(options) {
		return this.#track(() => this.#read(options));
	}

	async header({ signal }) {
		// No namespace has it, so that its entries are not sent.
		const header = { model: "", maxElements: 1, ttlMs: null };
		const options = { header, after: null, limit: 1, signal };
		const page = await this.#track(() => this.#call("read", options));
		return page?.header ?? null;
	}

	async namespaces(options) {
		const signal = readSignal(options);
		const work = () => withClient(this.#pool, signal, namesOf);
		return this.#track(() => this.#run(signal, work));
	}

	async forgetBefore(date, options) {
		const signal = readRemoval("date", date, options);
		const values = [this.#options.namespace, date.getTime()];
		return Number(await this.#remove("forgetBefore", values, signal));
	}

	async drop(namespace, options) {
		const signal = readRemoval("namespace", namespace, options);
		return (await this.#remove("drop", [namespace], signal)) === "true";
	}

	#remove(name, values, signal) {
		const work = (client) => removeBy(client, name, values);
		return this.#track(() => this.#run(signal, () => inTransaction(this.#pool, signal, work)));
	}

	async migrate(options) {
		const signal = readSignal(options);
		return this.#track(() => migrate(this.#pool, signal));
	}

	close() {
		this.#closing ??= (async () => {
			await Promise.allSettled(this.#calls);
			if (!this.#options.pool) await this.#pool.end();
		})();
		return this.#closing;
	}

	async #append(entries, options) {
		checkIds(entries);
		const { durable } = this.#options;
		const more = [options.keepFrom, durable, LOCK_TIMEOUT_MS, ...writeEntries(entries)];
		const page = await this.#call("append", options, more);
		if (!page)
			throw new ScoringError("the server answers without a page", { code: "STORE_UNAVAILABLE" });
		return isWhole(page, options) ? page : this.#read(options);
	}

	async #read(options) {
		const page = await this.#call("read", options);
		// Without one, the namespace or a new epoch must be created.
		return page ?? this.#append([], { ...options, keepFrom: null });
	}

	/** Makes `close` wait for a call. */
	async #track(work) {
		if (this.#closing) throw new ScoringError("the store is closed", { code: "CLOSED" });
		const call = work();
		this.#calls.add(call);
		return call.finally(() => this.#calls.delete(call));
	}

	/** Calls one of the functions that return pages. */
	async #call(name, { header, after, limit, signal }, more = []) {
		const { namespace } = this.#options;
		const { model, maxElements, ttlMs } = header;
		const { epoch = null, seq = null, call = null } = after ?? {};
		const values = [namespace, model, maxElements, ttlMs, epoch, seq, call, limit, ...more];
		const work = (client) => callFunction(client, name, values);
		return this.#run(signal, () => {
			const within = this.#needsTransaction ? inTransaction : withClient;
			return within(this.#pool, signal, work);
		});
	}

	/** Runs queries, again if what an error says can be mended. */
	async #run(signal, work) {
		let mayMigrate = this.#options.migrate;
		if (!this.#isChecked) {
			if (mayMigrate) await claim(this.#pool, signal);
			await isOlder(this.#pool, signal);
			this.#isChecked = true;
		}
		for (;;) {
			const neededTransaction = this.#needsTransaction;
			try {
				return await work();
			} catch (error) {
				const isUndefined = UNDEFINED.includes(error?.code);
				if (ISOLATION.includes(error?.code) && !neededTransaction) {
					this.#needsTransaction = true;
				} else if (isUndefined && mayMigrate) {
					mayMigrate = false;
					await migrate(this.#pool, signal);
				} else if (isUndefined && (await isOlder(this.#pool, signal))) throw mismatch(LACKING);
				else throw this.#toError(error);
			}
		}
	}

	#toError(error) {
		if (error?.code !== OUT_OF_RANGE) return error;
		const message = `namespace "${this.#options.namespace}" has numbers out of range: ${error.message}`;
		return new ScoringError(message, { code: "INVALID_STORE", cause: error });
	}
};

exports.migrationSql = migrationSql;
