/**
 * Calls the functions in the database. Rows come in PostgreSQL's binary COPY format, which clients pass on
 * unread, because decoding rows of text would take longer than everything else.
 */

const { unpack } = require("../entries.js");

/** Signature, flags, and the length of the header extension, before the first row. */
const HEADER_BYTES = 19;

/** Returns the columns of a row: a Buffer for each, or null. */
function readRow(bytes, start) {
	const columns = [];
	let end = start + 2;
	// -1 after the last row.
	for (let count = bytes.readInt16BE(start); count > 0; count--) {
		const length = bytes.readInt32BE(end);
		end += 4;
		// -1 for null.
		columns.push(length < 0 ? null : bytes.subarray(end, end + length));
		end += Math.max(length, 0);
	}
	return columns;
}

const elementOf = (text) => (text === null ? "NULL" : `"${text.replaceAll(/["\\]/g, "\\$&")}"`);

/** Returns a value as an SQL literal without a type. */
function literal(client, value) {
	if (value === null) return "NULL";
	if (Buffer.isBuffer(value)) return `E'\\\\x${value.toString("hex")}'`;
	if (Array.isArray(value)) return client.escapeLiteral(`{${value.map(elementOf)}}`);
	return typeof value === "string" ? client.escapeLiteral(value) : String(value);
}

/** Calls a function in the database. Returns its rows, as {@link readColumns} reads them. */
async function callFunction(client, name, parameters) {
	const values = parameters.map((value) => literal(client, value)).join(", ");
	const text = `COPY (SELECT * FROM ${name}(${values})) TO STDOUT (FORMAT binary)`;
	const rows = [];
	let start = HEADER_BYTES;
	await new Promise((resolve, reject) => {
		// A query object of `pg`.
		client.query({
			submit: (connection) => connection.query(text),
			// Called for each row and for the end. All rows of a page, read together, would delay the event loop.
			handleCopyData({ chunk }) {
				try {
					// A copy, because the client reuses its memory.
					const row = readRow(Buffer.from(chunk), start);
					start = 0;
					if (row.length > 0) rows.push(readColumns(row));
				} catch (error) {
					reject(error);
				}
			},
			handleCommandComplete() {},
			handleReadyForQuery: resolve,
			handleError: reject,
		});
	});
	return rows;
}

/** PostgreSQL has no U+0000 in text, so it is written as U+001A and 0, and U+001A as U+001A and 1. */
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

/** Reads one row of a page: the first describes the page, the others have entries. */
function readColumns([page, rows, embeddings]) {
	if (page) return JSON.parse(page);
	const entries = unpack(rows, embeddings);
	for (const entry of entries) entry.id = readId(entry.id);
	return entries;
}

/** Makes a page from its rows. */
function toPage([{ epoch, head, first, reset, ...header }, ...entries]) {
	return { header, epoch, head, first, reset, entries: entries.flat() };
}

module.exports = { callFunction, toPage, writeEntries };
