/** A scorer as the options describe it, with its memory. */
const { existsSync } = require("node:fs");
const { readFile } = require("node:fs/promises");
const { CopiedStore } = require("./copied-store.js");
const { Scorer } = require("./engine.js");
const { InputError, reasonOf } = require("./exit.js");
const { FileOutput } = require("./output.js");

const unreadable = (path, error) => new InputError(`cannot read ${path}: ${reasonOf(error)}`);

async function profilesOf(path) {
	if (path === undefined) return undefined;
	const text = await readFile(path, "utf8").catch((error) => {
		throw unreadable(path, error);
	});
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch (error) {
		throw new InputError(`${path}: no JSON: ${error.message}`);
	}
}

/** Query parameters of store URLs. */
const PARAMETERS = {
	sqlite: ["namespace", "create"],
	postgres: [
		...["namespace", "application_name", "client_encoding", "host", "options", "password", "port"],
		...["ssl", "sslcert", "sslkey", "sslmode", "sslnegotiation", "sslrootcert"],
		...["statement_timeout", "uselibpqcompat", "user"],
	],
};

/** An error that does not show the URL, which may contain a password. */
const storeError = (text) => new InputError(`store URL: ${text}`);

function checkParameters(scheme, parameters) {
	const known = PARAMETERS[scheme];
	for (const name of parameters.keys())
		if (!known.includes(name))
			throw storeError(`unknown parameter ${JSON.stringify(name)}; known are ${known.join(", ")}`);
}

function load(name) {
	try {
		return require(`@knowledgepulse/scoring-stores/${name}`);
	} catch (error) {
		if (error.code !== "MODULE_NOT_FOUND") throw error;
		throw storeError("it needs a package: npm install @knowledgepulse/scoring-stores");
	}
}

function sqliteOf(url) {
	const [, path, query] = /^sqlite:(?:\/\/(?=\/))?([^?]*)\??(.*)$/is.exec(url);
	const parameters = new URLSearchParams(query);
	checkParameters("sqlite", parameters);
	const namespace = parameters.get("namespace");
	if (parameters.get("create") !== "1" && !existsSync(path))
		throw storeError(`there is no file ${path}; create=1 after the ? creates it`);
	const { SqliteStore } = load("sqlite");
	return new SqliteStore({ path, ...(namespace && { namespace }) });
}

function postgresOf(url) {
	let address;
	try {
		address = new URL(url);
	} catch {
		throw storeError(
			"expected postgres://USER:PASSWORD@HOST/DATABASE, with special characters as %XX, found an invalid URL",
		);
	}
	checkParameters("postgres", address.searchParams);
	const namespace = address.searchParams.get("namespace");
	address.searchParams.delete("namespace");
	const { PostgresStore } = load("postgres");
	return new PostgresStore({
		connectionString: address.href,
		...(namespace && { namespace }),
	});
}

/** The store of a URL: `postgres://…` or `sqlite:FILE`, with parameters after a `?`; undefined without one. */
function storeOf(url) {
	if (!url) return undefined;
	if (/^sqlite:/i.test(url)) return sqliteOf(url);
	if (/^postgres(ql)?:\/\//i.test(url)) return postgresOf(url);
	const [scheme] = /^[a-z][a-z\d+.-]*:(\/\/)?/i.exec(url) ?? ["no scheme"];
	throw storeError(`expected postgres://… or sqlite:FILE, found ${scheme}`);
}

const loaded = (memory, options) =>
	Scorer.load(memory, options).catch((error) => {
		throw error.syscall ? unreadable(memory, error) : error;
	});

class Session {
	#store;
	#memory;

	/**
	 * Opens the memory, if there is one, and loads the model. Unless `saved` is set, traces are added to
	 * a copy of the memory.
	 */
	static async open(options, { saved = false } = {}) {
		const { memory, store = memory === undefined && process.env.KP_SCORE_STORE } = options;
		const session = new Session();
		try {
			const log = storeOf(store);
			session.#store = log && !saved ? new CopiedStore(log) : log;
			if (memory !== undefined && saved) session.#memory = await FileOutput.open(memory, 0o600);
			await session.#load(options);
			return session;
		} catch (error) {
			await session.close();
			throw error;
		}
	}

	async #load({ memory, profiles, embedder, precision }) {
		const options = {
			embedder,
			...(precision && { precision }),
			...(profiles && { profiles: await profilesOf(profiles) }),
			...(this.#store && { store: this.#store, storeMode: "required" }),
		};
		// A memory that is only read must be there.
		const isLoaded = memory !== undefined && (!this.#memory || existsSync(memory));
		this.scorer = isLoaded ? await loaded(memory, options) : new Scorer(options);
		if (embedder === "required") await this.scorer.warmup();
	}

	/** Writes the memory back, where there is a file for it. */
	async save() {
		await this.#memory?.write(await this.scorer.snapshot());
		await this.#memory?.commit();
	}

	async close() {
		this.scorer?.close();
		await this.#memory?.discard();
		await this.#store?.close();
	}
}

module.exports = { Session, profilesOf };
