/** Stores by their URLs. */
const { existsSync } = require("node:fs");
const { fileURLToPath } = require("node:url");
const { claimInput } = require("./claims.js");
const { InputError } = require("./exit.js");
const { ADDRESS } = require("./terminal.js");

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

/** Loads a store from beside this package. The working directory is not searched: it may belong to anybody. */
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

function sqliteOf(url, isWritten) {
	const [, place, query] = /^sqlite:([^?]*)\??(.*)$/is.exec(url);
	const parameters = new URLSearchParams(query);
	const options = parametersOf(parameters, ["namespace", "create"]);
	const path = fileOf(place);
	const isThere = existsSync(path);
	if (!isThere && parameters.get("create") !== "1")
		throw storeError(`there is no file ${path}; create=1 after the ? creates it`);
	if (!isThere && !isWritten) return undefined;
	for (const end of ["", "-journal", "-shm", "-wal"]) claimInput(path + end);
	const { SqliteStore } = load("sqlite", "@photostructure/sqlite");
	return new SqliteStore({ path, ...options });
}

function postgresOf(url) {
	// As for pg, a host may be missing: it may be the folder of a socket, in a parameter.
	if (!URL.canParse(url.replace("@/", "@host/")))
		throw storeError(
			`expected ${ADDRESS}/DATABASE, with special characters as %XX, found an invalid URL`,
		);
	const [address, query] = url.split(/\?(.*)/s);
	const parameters = new URLSearchParams(query);
	const options = parametersOf(parameters, POSTGRES);
	parameters.delete("namespace");
	const { PostgresStore } = load("postgres", "pg");
	return new PostgresStore({ connectionString: `${address}?${parameters}`, ...options });
}

/**
 * The store of a URL: `postgres://…` or `sqlite:FILE`, with parameters after a `?`. Undefined for a file that `create=1` would
 * create, if the store is not written.
 */
function storeOf(url, isWritten) {
	if (/^sqlite:/i.test(url)) return sqliteOf(url, isWritten);
	if (/^postgres(ql)?:\/\//i.test(url)) return postgresOf(url);
	const [scheme] = /^[a-z][a-z\d+.-]*:(\/\/)?/i.exec(url) ?? ["no scheme"];
	throw storeError(`expected postgres://… or sqlite:FILE, found ${scheme}`);
}

/** Throws the error of a store; those of its driver as one that it is unavailable. */
function failed(error) {
	if (error instanceof InputError || error.name === "ScoringError") throw error;
	const isSilent = error.name === "TimeoutError";
	const text = isSilent ? "it did not answer in time" : error.message || error.code;
	throw Object.assign(new Error(text), { code: "STORE_UNAVAILABLE" });
}

module.exports = { failed, fileOf, storeOf };
