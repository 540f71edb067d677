/** A scorer with its memory, from the options. */
const { existsSync, statSync } = require("node:fs");
const { fileURLToPath } = require("node:url");
const { Scorer } = require("@knowledgepulse/scoring");
const { InputError, atEnd, cannot } = require("./exit.js");
const { lockFile } = require("./lock.js");
const { openFile } = require("./output.js");
const { boundedContentsOf } = require("./sources.js");
const { say } = require("./terminal.js");

async function profilesOf(run) {
	const path = run.options.profiles;
	if (path === undefined) return undefined;
	const text = (await boundedContentsOf(path, run)).toString();
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch (error) {
		throw new InputError(`${path}: expected JSON: ${error.message}`);
	}
}

/** The parameters of libpq that pg takes, with those that it does not need. */
const POSTGRES = `namespace application_name channel_binding client_encoding connect_timeout
	fallback_application_name gssencmode host idle_in_transaction_session_timeout keepalives keepalives_count
	keepalives_idle keepalives_interval lock_timeout options password port query_timeout ssl sslcert sslkey sslmode
	sslnegotiation sslrootcert sslsni statement_timeout target_session_attrs uselibpqcompat user`.split(
	/\s+/,
);

/** An error without the URL, which may contain a password. */
const storeError = (text) => new InputError(`store URL: ${text}`);

/** Checks the parameters of the URL of a store, and returns them as options. */
function parametersOf(parameters, known) {
	for (const name of parameters.keys())
		if (!known.includes(name))
			throw storeError(
				`unknown parameter ${JSON.stringify(name.slice(0, 100))}; known are ${known.join(", ")}`,
			);
	const namespace = parameters.get("namespace");
	if (namespace === "") throw storeError("expected namespace=NAME, found no name");
	return namespace ? { namespace } : {};
}

/**
 * Loads a class of the stores, whose package must be installed beside this one. The working directory is not searched:
 * it may belong to anybody.
 */
function load(name, driver) {
	try {
		return require(`@knowledgepulse/scoring-stores/${name}`);
	} catch (error) {
		if (error.code !== "MODULE_NOT_FOUND") throw error;
		const packages = `@knowledgepulse/scoring-stores ${driver}`;
		throw storeError(
			`it needs packages beside kp-score: npm install ${packages}, where @knowledgepulse/scoring-cli is installed (with --global if that is); without an installation, npx ${`@knowledgepulse/scoring-cli ${packages}`.replace(/\S+/g, "-p $&")} kp-score`,
		);
	}
}

/** The file of an SQLite URL without its scheme: a path, or, after two slashes, the rest of a file URL. */
function fileOf(path, windows = process.platform === "win32") {
	if (!path.startsWith("//")) return path;
	try {
		return fileURLToPath(`file:${path.replaceAll("#", "%23")}`, { windows });
	} catch (error) {
		throw storeError(error.message);
	}
}

function sqliteOf(url) {
	const [, place, query] = /^sqlite:([^?]*)\??(.*)$/is.exec(url);
	const parameters = new URLSearchParams(query);
	const options = parametersOf(parameters, ["namespace", "create"]);
	const path = fileOf(place);
	if (parameters.get("create") !== "1" && !existsSync(path))
		throw storeError(`there is no file ${path}; create=1 after the ? creates it`);
	const { SqliteStore } = load("sqlite", "@photostructure/sqlite");
	return new SqliteStore({ path, ...options });
}

function postgresOf(url) {
	if (!URL.canParse(url))
		throw storeError(
			"expected postgres://USER:PASSWORD@HOST/DATABASE, with special characters as %XX, found an invalid URL",
		);
	const address = new URL(url);
	const options = parametersOf(address.searchParams, POSTGRES);
	address.searchParams.delete("namespace");
	const { PostgresStore } = load("postgres", "pg");
	return new PostgresStore({ connectionString: address.href, ...options });
}

/** The store of a URL: `postgres://…` or `sqlite:FILE`, with parameters after a `?`; undefined without one. */
function storeOf(url) {
	if (!url) return undefined;
	if (/^sqlite:/i.test(url)) return sqliteOf(url);
	if (/^postgres(ql)?:\/\//i.test(url)) return postgresOf(url);
	const [scheme] = /^[a-z][a-z\d+.-]*:(\/\/)?/i.exec(url) ?? ["no scheme"];
	throw storeError(`expected postgres://… or sqlite:FILE, found ${scheme}`);
}

/** A scorer with a copy of the memory in a store; without a model it needs none. */
async function copyOf(store, options) {
	const alone = new Scorer(options);
	const { embedder } = await alone.warmup();
	if (embedder.state !== "ready") return alone;
	alone.close();
	const shared = new Scorer({ ...options, store, storeMode: "required" });
	try {
		await shared.warmup();
		return await Scorer.restore(await shared.snapshot(), options);
	} finally {
		shared.close();
	}
}

/** The scorer for the options. */
async function scorerOf(options, { profiles, saved, store }) {
	const { memory, embedder, precision, model, pooling, longText } = options;
	const settings = { embedder, precision, model, pooling, longText, profiles };
	if (store && !saved) return copyOf(store, settings);
	const shared = store ? { ...settings, store, storeMode: "required" } : settings;
	// A memory that is only read must exist.
	if (memory === undefined || (saved && !existsSync(memory))) return new Scorer(shared);
	try {
		if (!statSync(memory).isFile()) throw new InputError(`${memory}: expected a regular file`);
		return await Scorer.load(memory, shared);
	} catch (error) {
		throw error.syscall ? cannot("read", memory, error) : error;
	}
}

/** Opens the memory file for writing, once no other process does. */
async function memoryOf(path, run) {
	const file = await openFile(path, { mode: 0o600 });
	if (file.path === undefined) throw new InputError(`${path}: expected a regular file`);
	const release = await lockFile(file.path, { signal: run.signal, say });
	atEnd(release);
	return file;
}

/**
 * Opens the memory, if there is one, and loads the model. Traces are added to a copy, unless `saved` is set. `known` is
 * what is to be done with runs that the memory has: they are scored `again`, or skipped.
 */
async function openSession(run, { saved = false, again = !saved } = {}) {
	const { options } = run;
	const { memory, store: url = memory === undefined && process.env.KP_SCORE_STORE } = options;
	const store = storeOf(url);
	if (store) atEnd(() => store.close());
	const file = saved && memory !== undefined && (await memoryOf(memory, run));
	const profiles = await profilesOf(run);
	const scorer = await run.until(scorerOf(options, { profiles, saved, store }));
	atEnd(() => scorer.close());
	// This also reads the store.
	if (options.embedder === "required" || (store && saved)) await run.until(scorer.warmup());
	const hasMemory = store !== undefined || memory !== undefined;
	return {
		known: hasMemory ? (again ? "again" : "skip") : "score",
		profiles,
		scorer,
		/** Writes the memory back, if there is a file for it. */
		async save() {
			if (!file) return;
			await file.write(await scorer.snapshot());
			await file.commit();
		},
	};
}

module.exports = { fileOf, openSession, profilesOf };
