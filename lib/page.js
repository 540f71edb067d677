/** Checks pages of a store, and packs them: reading each entry through Node-API would block for milliseconds. */
const { isUint8Array } = require("node:util/types");
const { ScoringError } = require("./errors.js");
const { describe, isId, isObject, isString } = require("./options.js");

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const KINDS = ["add", "forget", "clear"];
const WHOLE = "a safe integer, 0 or more";
const POSITIVE = "a safe integer, 1 or more";

const isWhole = (value, least) => Number.isSafeInteger(value) && value >= least;

/** Fails for a value of the store. Its place is put together only then, since a page has many. */
function fail(value, place, expected) {
	const message = `${place}: expected ${expected}, got ${describe(value)}`;
	throw new ScoringError(message, { code: "INVALID_STORE" });
}

function checkHeader(found, expected) {
	if (!isObject(found)) fail(found, "header of the store", "an object");
	// A store may have anything, of any length.
	const shown = (value) => (isString(value) ? value.slice(0, 200) : describe(value));
	for (const name of ["model", "maxElements", "ttlMs"]) {
		const value = found[name];
		if (value === expected[name]) continue;
		const both = `${name} ${shown(value)}, this scorer ${shown(expected[name])}`;
		const message = `the namespace of the store has ${both}`;
		throw new ScoringError(message, { code: "STORE_MISMATCH" });
	}
}

/** The embeddings of a page until they are applied. Reused, to spare the garbage collector. */
let memory = new Uint8Array(0);

function write(bytes, start) {
	const end = start + bytes.length;
	if (end > memory.length) {
		const larger = new Uint8Array(2 * end);
		larger.set(memory);
		memory = larger;
	}
	memory.set(bytes, start);
	return end;
}

/** Returns the JSON row of an entry, and its embedding. Reads each field once. */
function readEntry(entry, index, calls) {
	if (!isObject(entry)) fail(entry, `entries[${index}] of the store`, "an object");
	const { seq, at, call, id, kind, embedding } = entry;
	if (!isWhole(seq, 1)) fail(seq, `entries[${index}].seq of the store`, POSITIVE);
	const refuse = (value, field, expected) =>
		fail(value, `entry ${seq} of the store: ${field}`, expected);
	if (!isWhole(at, 0)) refuse(at, "at", WHOLE);
	if (!isString(call) || !UUID.test(call)) refuse(call, "call", "a UUID");
	if (id !== null && !isString(id)) refuse(id, "id", "a string or null");
	if (!KINDS.includes(kind)) refuse(kind, "kind", '"add", "forget" or "clear"');
	const bytes = kind === "add" ? embedding : null;
	const isBytes = bytes === null || isUint8Array(bytes);
	if (!isBytes) refuse(bytes, "embedding", "a Uint8Array or null");
	const length = bytes?.length ?? null;
	if (length % 4 !== 0) refuse(length, "embedding", "bytes of float32");
	// JSON has no lone surrogates.
	const known = isId(id) ? id.toWellFormed() : undefined;
	const row = [seq, at, call, kind, known, length, calls.get(call)];
	return { row, bytes };
}

/** Returns the fields of a page, checked except for the entries. `header` is that of the scorer. */
exports.checkPage = function checkPage(page, header) {
	if (!isObject(page)) fail(page, "page of the store", "an object");
	checkHeader(page.header, header);
	const { epoch, head, first, reset, entries } = page;
	if (!isString(epoch)) fail(epoch, "epoch of the store", "a string");
	if (typeof reset !== "boolean") fail(reset, "reset of the store", "a boolean");
	if (!Array.isArray(entries)) fail(entries, "entries of the store", "an array");
	if (!isWhole(head, 0)) fail(head, "head of the store", WHOLE);
	if (!isWhole(first, 1)) fail(first, "first of the store", POSITIVE);
	return { epoch, head, first, reset, entries };
};

/**
 * Returns a checked page as `json`, and its embeddings as contiguous `bytes`, which the next call overwrites.
 * `calls` maps the UUID of each call of the batch to its index.
 */
exports.packPage = function packPage({ epoch, head, first, reset, entries }, calls) {
	let end = 0;
	const rows = Array.from(entries, (entry, index) => {
		const { row, bytes } = readEntry(entry, index, calls);
		if (bytes) end = write(bytes, end);
		return row;
	});
	const json = JSON.stringify([epoch.toWellFormed(), head, first, reset, rows]);
	return { rows, json, bytes: memory.subarray(0, end) };
};
