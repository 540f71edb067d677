/**
 * Rows in PostgreSQL's binary COPY format, which clients pass on as they arrive. The rows of a query are
 * text to them, and to decode that takes longer than all the rest.
 */

/** Signature, flags, and the length of the header extension. */
const HEADER_BYTES = 19;
const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;

/** The columns of a row: a Buffer for each, or null. */
function readRow(bytes, start) {
	const columns = [];
	let end = start + COUNT_BYTES;
	// -1 after the last row.
	for (let count = bytes.readInt16BE(start); count > 0; count--) {
		const length = bytes.readInt32BE(end);
		end += LENGTH_BYTES;
		// -1 for null.
		columns.push(length < 0 ? null : bytes.subarray(end, end + length));
		end += Math.max(length, 0);
	}
	return columns;
}

/** A query as clients of `pg` take it in place of text. */
class CopyOut {
	#text;
	#messages = [];
	#settle;

	constructor(text) {
		this.#text = text;
		this.rows = new Promise((resolve, reject) => {
			this.#settle = { resolve, reject };
		});
	}

	submit(connection) {
		connection.query(this.#text);
	}

	/** Always one for each row, and one for the end. */
	handleCopyData({ chunk }) {
		// A copy, because the client reuses its memory.
		this.#messages.push(Buffer.from(chunk));
	}

	handleCommandComplete() {}

	handleReadyForQuery() {
		const rows = this.#messages.map((bytes, index) =>
			readRow(bytes, index === 0 ? HEADER_BYTES : 0),
		);
		this.#settle.resolve(rows.filter((columns) => columns.length > 0));
	}

	handleError(error) {
		this.#settle.reject(error);
	}
}

function literal(client, value) {
	if (value === null) return "NULL";
	return typeof value === "string" ? client.escapeLiteral(value) : String(value);
}

/** Returns the rows that a function gives. */
exports.copyRows = function copyRows(client, name, parameters) {
	const values = parameters.map((value) => literal(client, value)).join(", ");
	const query = new CopyOut(`COPY (SELECT * FROM ${name}(${values})) TO STDOUT (FORMAT binary)`);
	client.query(query);
	return query.rows;
};
