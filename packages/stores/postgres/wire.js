/**
 * Calls the functions in the database, by what every version of `pg`, and everything that wraps it, supports: a text, the
 * same for all calls, and parameters.
 */

const { unpack } = require("../entries.js");

/** The types of the parameters. The first eight are those of both functions. */
const PLACE = ["text", "text", "int8", "float8", "uuid", "int8", "uuid", "int4"];
const CHANGES = ["float8", "bool", "int4", "uuid[]", "text[]", "text[]", "bytea"];

/** A qualified name and exact types, so that the text means the same with every `search_path`. */
function callOf(name, types) {
	const parameters = types.map((type, index) => `$${index + 1}::pg_catalog.${type}`);
	return `SELECT page, entries, embeddings FROM kp_novelty.${name}(${parameters.join(", ")})`;
}

const CALLS = {
	read: callOf("read_v1", PLACE),
	append: callOf("append_v1", [...PLACE, ...CHANGES]),
};

/** The oid of `text`, the type of the embeddings. */
const TEXT = 25;

/**
 * Instead of the application's parsers, and for each value when it arrives: all embeddings of a page, decoded together,
 * would delay the event loop. JSON and text are the same bytes in both formats of results.
 */
const types = {
	getTypeParser: (oid) => (oid === TEXT ? (text) => Buffer.from(String(text), "base64") : String),
};

/** Calls a function in the database. Returns its page, or undefined if it has none. */
async function callFunction(client, name, values) {
	const { rows } = await client.query({ text: CALLS[name], values, types, rowMode: "array" });
	if (rows.length === 0) return undefined;
	const [[page], ...parts] = rows;
	const { epoch, head, first, reset, ...header } = JSON.parse(page);
	const entries = parts.flatMap(([, json, embeddings]) => unpack(json, embeddings));
	for (const entry of entries) entry.id = readId(entry.id);
	return { header, epoch, head, first, reset, entries };
}

/** Returns the names of all namespaces, in order. */
async function namesOf(client) {
	const text = "SELECT namespace FROM kp_novelty.head ORDER BY namespace";
	const { rows } = await client.query({ text, rowMode: "array" });
	return rows.flat();
}

const REMOVALS = {
	forgetBefore: "kp_novelty.forget_before_v1($1::pg_catalog.text, $2::pg_catalog.int8)",
	drop: "kp_novelty.drop_v1($1::pg_catalog.text)",
};

/** Removes entries within a transaction. Returns the result as text. */
async function removeBy(client, name, values) {
	const text = `SELECT ${REMOVALS[name]}::pg_catalog.text AS result`;
	return (await client.query({ text, values })).rows[0].result;
}

/** PostgreSQL has no U+0000 in text, so it is written as U+001A and 0, and U+001A as U+001A and 1. */
function writeId(id) {
	return id?.replaceAll("\u001a", "\u001a1").replaceAll("\0", "\u001a0") ?? null;
}

function readId(id) {
	return id?.replaceAll("\u001a0", "\0").replaceAll("\u001a1", "\u001a") ?? null;
}

/** Returns entries as parameters: calls, kinds, ids, and all embeddings, which share one length. */
function writeEntries(entries) {
	const embeddings = entries.map(({ embedding }) => embedding).filter(Boolean);
	if (new Set(embeddings.map(({ length }) => length)).size > 1)
		throw new RangeError("embeddings of different lengths");
	return [
		entries.map(({ call }) => call),
		entries.map(({ kind }) => kind),
		entries.map(({ id }) => writeId(id)),
		Buffer.concat(embeddings),
	];
}

module.exports = { callFunction, namesOf, removeBy, writeEntries };
