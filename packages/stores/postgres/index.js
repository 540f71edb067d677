/** A log on PostgreSQL: rows in a table, changed by functions that hold the lock of their namespace. */
const { ScoringError } = require("@knowledgepulse/scoring");
const { guard, withClient } = require("./client.js");
const { copyRows } = require("./copy.js");
const migrations = require("./migrations.js");
const { checkBoolean, checkNames, checkNamespace, invalidOption, shown } = require("../options.js");
const values = require("./values.js");

const { mismatch } = migrations;

/** How long a statement waits for the lock of its namespace. */
const LOCK_TIMEOUT_MS = 5000;

/** More than this is too much to compare with in each call. */
const MAX_COMPARED = 10_000;

const COMPARE = ["mirror", "database"];

/** The PostgreSQL errors of a schema that is not there. */
const UNDEFINED_FUNCTION = "42883";
const UNDEFINED_TABLE = "42P01";
const UNIQUE_VIOLATION = "23505";
/** Raised by our functions. */
const MISMATCH = "KP001";

const parameters = (count) => Array.from({ length: count }, (_, i) => `$${i + 1}`).join(", ");
const callOf = (name, count) => `SELECT * FROM ${name}(${parameters(count)})`;
const APPEND = callOf("kp_novelty_append_v1", 15);
const READ = "kp_novelty_read_v1";
const COMPARE_CALL = callOf("kp_novelty_compare_v2", 10);

function checkCompare(compare) {
	if (!COMPARE.includes(compare))
		throw invalidOption("compare", '"mirror" or "database"', shown(compare));
}

/** Returns the options with their defaults. */
function readOptions(given) {
	checkNames(given, [
		...["pool", "connectionString", "namespace", "durable", "migrate"],
		"compare",
	]);
	const { pool, connectionString, namespace = "default" } = given;
	const { durable = false, migrate = false, compare = "mirror" } = given;
	if ((pool === undefined) === (connectionString === undefined))
		throw invalidOption(
			...["pool", "either pool or connectionString"],
			pool === undefined ? "neither" : "both",
		);
	const isPool = ["connect", "on", "off"].every((name) => typeof pool?.[name] === "function");
	if (pool !== undefined && !isPool) throw invalidOption("pool", "a pool of pg", shown(pool));
	// Never shown: it may have a password.
	if (connectionString !== undefined && typeof connectionString !== "string")
		throw invalidOption(...["connectionString", "a string", typeof connectionString]);
	checkNamespace(namespace);
	checkBoolean("durable", durable);
	checkBoolean("migrate", migrate);
	checkCompare(compare);
	return { pool, connectionString, namespace, durable, migrate, compare };
}

function makePool(connectionString) {
	let pg;
	try {
		pg = require("pg");
	} catch (cause) {
		throw new ScoringError("connectionString: the package pg is required", {
			...{ code: "STORE_UNAVAILABLE", path: "connectionString", cause },
		});
	}
	return new pg.Pool({
		connectionString,
		// A scorer has one append under way; a connection that was given up may still be connecting.
		max: 4,
		connectionTimeoutMillis: 10_000,
		allowExitOnIdle: true,
		keepAlive: true,
	});
}

exports.PostgresNoveltyLog = class PostgresNoveltyLog {
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
		// A scorer uses `compare` in place of `append` and `read` where there is one.
		if (this.#options.compare === "database") this.compare = this.#compare;
	}

	async append(entries, { header, after, limit, keepFrom, signal }) {
		return this.#track(async () => {
			const { calls, kinds, ids, embeddings } = values.writeEntries(entries);
			const rows = await this.#query(signal, APPEND, [
				...[...this.#log(header), ...position(after), limit, keepFrom],
				...[this.#options.durable, LOCK_TIMEOUT_MS],
				...[calls, kinds, ids, Buffer.concat(embeddings)],
			]);
			return this.#page(values.readPage(rows));
		});
	}

	async read(options) {
		return this.#track(async () => {
			const { header, after, limit, signal } = options;
			const parameters = [...this.#log(header), ...position(after), limit];
			const rows = await this.#run(signal, (client) => copyRows(client, READ, parameters));
			if (rows.length > 0) return this.#page(values.readGroups(rows));
			// The namespace or a new epoch has to be made.
			return this.append([], { ...options, keepFrom: null });
		});
	}

	async #compare(entries, { header, signal }) {
		return this.#track(async () => {
			if (header.maxElements > MAX_COMPARED)
				throw mismatch(
					`compare: "database" compares with at most ${MAX_COMPARED} traces, cache.maxElements is ${header.maxElements}`,
				);
			const { calls, kinds, ids, embeddings } = values.writeEntries(entries);
			const rows = await this.#query(signal, COMPARE_CALL, [
				...[...this.#log(header), this.#options.durable, LOCK_TIMEOUT_MS],
				...[calls, kinds, ids, values.writeReals(embeddings)],
			]);
			return rows.map(values.readComparison);
		});
	}

	async migrate(options = {}) {
		checkNames(options, ["signal"]);
		return this.#track(() => migrations.migrate(this.#pool, this.#options.compare, options.signal));
	}

	close() {
		this.#closing ??= (async () => {
			await Promise.allSettled(this.#calls);
			if (!this.#options.pool) await this.#pool.end();
			this.#unguard();
		})();
		return this.#closing;
	}

	/** Makes `close` wait for a call. */
	async #track(work) {
		if (this.#closing) throw new ScoringError("the log is closed", { code: "CLOSED" });
		const call = work();
		this.#calls.add(call);
		try {
			return await call;
		} finally {
			this.#calls.delete(call);
		}
	}

	/** The first parameters of every function. */
	#log({ model, maxElements, ttlMs }) {
		return [this.#options.namespace, model, maxElements, ttlMs];
	}

	#page({ compare, page }) {
		if (compare !== "mirror")
			throw mismatch(`namespace "${this.#options.namespace}" was created with compare: "database"`);
		return page;
	}

	#query(signal, text, parameters) {
		return this.#run(signal, async (client) => {
			// Without a name: prepared statements belong to a session, which a pooler does not keep.
			const query = { text, values: parameters, rowMode: "array" };
			const types = values.makeTypes();
			return (await client.query({ ...query, types })).rows;
		});
	}

	/** Does `work` with a client. */
	async #run(signal, work) {
		const run = () => withClient(this.#pool, signal, work);
		try {
			try {
				return await run();
			} catch (error) {
				if (![UNDEFINED_FUNCTION, UNDEFINED_TABLE].includes(error?.code)) throw error;
				await this.#mend(signal, error);
				return await run();
			}
		} catch (error) {
			throw this.#toError(error);
		}
	}

	/** Applies the migrations that are missing if it may, and throws if it may not, or if none is. */
	async #mend(signal, cause) {
		const { migrate, compare } = this.#options;
		if (!(await migrations.isOlder(this.#pool, compare, signal))) throw cause;
		if (migrate) return migrations.migrate(this.#pool, compare, signal);
		const option = compare === "mirror" ? "" : `{ compare: "${compare}" }`;
		throw mismatch(
			`the database lacks the tables or functions of a novelty log: set migrate: true, call migrate(), or run what migrationSql(${option}) returns`,
		);
	}

	#toError(error) {
		if (error?.code === MISMATCH) return mismatch(error.message);
		if (error?.code === UNIQUE_VIOLATION && error.table === "kp_novelty_log")
			return new ScoringError(
				`namespace "${this.#options.namespace}" has entries beyond its head: ${error.message}`,
				{ code: "INVALID_STORE", cause: error },
			);
		return error;
	}
};

exports.migrationSql = function migrationSql(options = {}) {
	checkNames(options, ["compare", "from"]);
	const { compare = "mirror", from = 0 } = options;
	checkCompare(compare);
	if (!Number.isInteger(from) || from < 0)
		throw invalidOption("from", "a whole number from 0", shown(from));
	return migrations.migrationSql(compare, from);
};

const position = (after) =>
	after === null ? [null, null, null] : [after.epoch, after.seq, after.call];
