/**
 * Checks the pages of a store, and packs each into a string and a buffer, because reading every entry through Node-API
 * would block the event loop for milliseconds.
 */
const { types } = require("node:util");
const { ScoringError } = require("./errors.js");

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const KINDS = ["add", "forget", "clear"];

const isObject = (value) => typeof value === "object" && value !== null;
const isString = (value) => typeof value === "string";

/** Makes the function over the native module. */
exports.pagePacker = function pagePacker({ describe }) {
	function check(fits, value, place, expected) {
		if (fits) return;
		const message = `${place}: expected ${expected}, got ${describe(value)}`;
		throw new ScoringError(message, { code: "INVALID_STORE" });
	}

	function checkWhole(value, place, least) {
		const fits = Number.isSafeInteger(value) && value >= least;
		check(fits, value, place, `a safe integer, ${least} or more`);
	}

	function checkHeader(found, expected) {
		check(isObject(found), found, "header of the store", "an object");
		const shown = (value) => (isString(value) ? value : describe(value));
		for (const name of ["model", "maxElements", "ttlMs"]) {
			const value = found[name];
			if (value === expected[name]) continue;
			const differs = `${name} ${shown(value)}, this scorer ${shown(expected[name])}`;
			throw new ScoringError(`the namespace of the store has ${differs}`, {
				code: "STORE_MISMATCH",
			});
		}
	}

	/** The embeddings of a page until they are applied. Reused, to spare the garbage collector. */
	let memory = new Uint8Array(0);

	/** Writes bytes to the memory, and returns their end. */
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
		check(isObject(entry), entry, `entries[${index}] of the store`, "an object");
		const { seq, at, call, id, kind, embedding } = entry;
		checkWhole(seq, `entries[${index}].seq of the store`, 1);
		const place = (field) => `entry ${seq} of the store: ${field}`;
		checkWhole(at, place("at"), 0);
		check(isString(call) && UUID.test(call), call, place("call"), "a UUID");
		check(id === null || isString(id), id, place("id"), "a string or null");
		check(KINDS.includes(kind), kind, place("kind"), '"add", "forget" or "clear"');
		if (kind === "forget") check(id !== null, id, place("id"), "a string");
		const bytes = kind === "add" ? embedding : null;
		const isBytes = bytes === null || types.isUint8Array(bytes);
		check(isBytes, bytes, place("embedding"), "a Uint8Array or null");
		const length = bytes?.length ?? null;
		check((length ?? 0) % 4 === 0, length, place("embedding"), "bytes of float32");
		// JSON has no lone surrogates.
		const row = [seq, at, call, kind, id?.toWellFormed(), length, calls.get(call)];
		return { row, bytes };
	}

	/**
	 * Returns a page as `json`, and its embeddings as contiguous `bytes`, which the next page overwrites. `header` is
	 * that of the scorer; `calls` has the index of each call in the current batch, by UUID.
	 * @param {any} page
	 * @param {Record<string, unknown>} header
	 * @param {Map<string, number>} calls
	 */
	return function packPage(page, header, calls) {
		check(isObject(page), page, "page of the store", "an object");
		checkHeader(page.header, header);
		const { epoch, head, first, reset, entries } = page;
		check(isString(epoch), epoch, "epoch of the store", "a string");
		check(typeof reset === "boolean", reset, "reset of the store", "a boolean");
		check(Array.isArray(entries), entries, "entries of the store", "an array");
		checkWhole(head, "head of the store", 0);
		checkWhole(first, "first of the store", 1);
		let end = 0;
		const rows = Array.from(entries, (entry, index) => {
			const { row, bytes } = readEntry(entry, index, calls);
			if (bytes) end = write(bytes, end);
			return row;
		});
		const json = JSON.stringify({ epoch: epoch.toWellFormed(), head, first, reset, entries: rows });
		return { epoch, head, reset, rows, json, bytes: memory.subarray(0, end) };
	};
};
