/** A scorer with its memory, from the options. */
const { existsSync } = require("node:fs");
const { readFile } = require("node:fs/promises");
const { fileURLToPath } = require("node:url");
const { Scorer } = require("@knowledgepulse/scoring");
const { InputError, atEnd, cannot } = require("./exit.js");
const { openFile } = require("./output.js");

async function profilesOf(path) {
	if (path === undefined) return undefined;
	const text = await readFile(path, "utf8").catch((error) => {
		throw cannot("read", path, error);
	});
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch (error) {
		throw new InputError(`${path}: expected JSON: ${error.message}`);
	}
}

const POSTGRES = `namespace application_name client_encoding host options password port ssl sslcert
	sslkey sslmode sslnegotiation sslrootcert statement_timeout uselibpqcompat user`.split(/\s+/);

/** An error without the URL, which may contain a password. */
const storeError = (text) => new InputError(`store URL: ${text}`);

/** Checks the parameters of the URL of a store, and returns them as options. */
function parametersOf(parameters, known) {
	for (const name of parameters.keys())
		if (!known.includes(name))
			throw storeError(`unknown parameter ${JSON.stringify(name)}; known are ${known.join(", ")}`);
	const namespace = parameters.get("namespace");
	return namespace ? { namespace } : {};
}

/** Loads a class of the stores, which may be installed beside this package or in the working directory. */
function load(name, driver) {
	try {
		const paths = [__dirname, process.cwd()];
		return require(require.resolve(`@knowledgepulse/scoring-stores/${name}`, { paths }));
	} catch (error) {
		if (error.code !== "MODULE_NOT_FOUND") throw error;
		throw storeError(`it needs packages: npm install @knowledgepulse/scoring-stores ${driver}`);
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
	return Scorer.load(memory, shared).catch((error) => {
		throw error.syscall ? cannot("read", memory, error) : error;
	});
}

/** Opens the memory, if there is one, and loads the model. Traces are added to a copy, unless `saved` is set. */
async function openSession(options, { saved = false } = {}) {
	const { memory, store: url = memory === undefined && process.env.KP_SCORE_STORE } = options;
	const store = storeOf(url);
	if (store) atEnd(() => store.close());
	const file = saved && memory !== undefined && (await openFile(memory, 0o600));
	const profiles = await profilesOf(options.profiles);
	const scorer = await scorerOf(options, { profiles, saved, store });
	atEnd(() => scorer.close());
	if (options.embedder === "required") await scorer.warmup();
	return {
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
