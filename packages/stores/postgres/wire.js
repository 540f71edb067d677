/** Calls of the functions in the database, and what they take and return. */
const { unpack } = require("../entries.js");

/**
 * Returns the rows of a page. All columns are text, which is the same in every format of results and with every
 * setting of the session.
 */
async function call(client, name, values) {
	const parameters = values.map((_, index) => `$${index + 1}`).join(", ");
	const text = `SELECT page, entries, encode(embeddings, 'base64') FROM ${name}(${parameters})`;
	const types = { getTypeParser: () => String };
	return (await client.query({ text, values, types, rowMode: "array" })).rows;
}

/**
 * Text of PostgreSQL has no U+0000, so it is written as U+001A and 0. An id with neither stays as it is.
 */
function writeId(id) {
	return id?.replaceAll("\u001a", "\u001a1").replaceAll("\0", "\u001a0") ?? null;
}

/** Reads what {@link writeId} wrote. */
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

/** Makes a page of its rows: the first describes it, each other one has some entries. */
function toPage([[page], ...rows]) {
	const { epoch, head, first, reset, ...header } = JSON.parse(page);
	const entries = rows.flatMap(([, json, embeddings]) =>
		unpack(json, Buffer.from(embeddings, "base64")),
	);
	for (const entry of entries) entry.id = readId(entry.id);
	return { header, epoch, head, first, reset, entries };
}

module.exports = { call, toPage, writeEntries };
