/** The sources of an import: files, text, bytes, streams and messages, read in pieces. */
const { Buffer } = require("node:buffer");
const fs = require("node:fs");
const { stat } = require("node:fs/promises");
const { resolve } = require("node:path");
const { Readable } = require("node:stream");
const { promisify } = require("node:util");
const { isAnyArrayBuffer, isUint8Array } = require("node:util/types");
const { ImportError, reasonOf } = require("./errors.js");
const { check, fileOf, isObject, isString, isUrl, own } = require("./options.js");
const { ignore, untilClosed } = require("./signals.js");

const [openFd, readFd, fstat, closeFd] = [fs.open, fs.read, fs.fstat, fs.close].map((call) =>
	promisify(call),
);

/** The maximum length of a piece, in bytes or in characters of a text. */
const PIECE = 2 ** 20;

/** Shorter chunks of a stream are joined up to this length, since each piece costs 0.1 ms. */
const JOINED = 2 ** 16;

/** The beginning of text; any other string is the path of a file. */
const TEXT = /^\s*[[{]/;

const FIRST_HALF = /[\ud800-\udbff]$/;

const isStream = (value) => isObject(value) && typeof value[Symbol.asyncIterator] === "function";

/** Whether a value is a Blob, a File or a Response, of any realm. */
const isBody = (value) => isObject(value) && typeof value.arrayBuffer === "function";

/** What is read of such a value, or of an ArrayBuffer; any other value as it is. */
function contentsOf(value) {
	if (isAnyArrayBuffer(value)) return new Uint8Array(value);
	return isBody(value) ? (value.body ?? value.stream?.() ?? "") : value;
}

/** Whether a value is the data of a source, unless it is text. */
const isData = (value) =>
	Array.isArray(value) ||
	isUint8Array(value) ||
	isStream(value) ||
	isBody(value) ||
	isAnyArrayBuffer(value);

/** Whether a value is a message, not one of the sources in `sourceOf`. A message with `data` has a type, and no name. */
const isMessage = (value) =>
	isObject(value) &&
	!isData(value) &&
	!isUrl(value) &&
	(!Object.hasOwn(value, "data") || (isString(value.type) && !isString(own(value).name)));

/** Reading must not wait in a thread of Node.js for a pipe or a device. Windows has no such flag. */
const READ = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

/** An error of the system with its file, which Node.js names only where it was opened. */
const named = (error, path) =>
	error.syscall && !error.path
		? Object.assign(error, { path, message: `${error.message} '${path}'` })
		: error;

const STALE = { code: "ESTALE", syscall: "read" };

/**
 * The contents of a regular file. While a piece is used, the next one is read. The file is open only while it is read:
 * nobody may come back for the rest, and an iterator can be dropped unnoticed.
 */
async function* contents(path) {
	let found;
	let position = 0;
	/** Two, by turns. */
	const buffers = [];
	const read = async (index) => {
		// A number, not a `FileHandle`, whose collection ends the process.
		const file = await openFd(path, READ);
		try {
			const { dev, ino, size } = await fstat(file);
			found ??= { dev, ino };
			if (found.dev !== dev || found.ino !== ino)
				throw Object.assign(new Error("ESTALE: another file has its place, read"), STALE);
			// The files of /proc have size 0.
			buffers[index] ??= Buffer.allocUnsafeSlow(Math.min(size || PIECE, PIECE));
			const buffer = buffers[index];
			const { bytesRead } = await readFd(file, buffer, 0, buffer.length, position);
			position += bytesRead;
			const isLast = bytesRead === 0 || (size > 0 && position >= size);
			return { piece: buffer.subarray(0, bytesRead), isLast };
		} finally {
			await closeFd(file);
		}
	};
	let reading = read(0);
	try {
		for (let index = 1; reading; index = 1 - index) {
			const { piece, isLast } = await reading;
			reading = isLast ? undefined : read(index);
			reading?.catch(ignore);
			if (piece.length > 0) yield piece;
		}
	} finally {
		await reading?.catch(ignore);
	}
}

/** Opens a pipe or a terminal as a stream, which waits without a thread; undefined for any other file. */
async function openStream(path, stats) {
	if (!stats?.isFIFO() && !stats?.isCharacterDevice()) return undefined;
	const { Socket } = require("node:net");
	const { ReadStream, isatty } = require("node:tty");
	const fd = await openFd(path, READ);
	if (stats.isFIFO()) return new Socket({ fd, readable: true, writable: false });
	if (isatty(fd)) return new ReadStream(fd);
	await closeFd(fd);
	return undefined;
}

/** The chunks of a web stream; unlike its own iterator, a reader can be cancelled while it waits. */
async function* chunksOf(reader) {
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		yield value;
	}
}

function* slices(text) {
	for (let start = 0; start < text.length; start += PIECE) yield text.slice(start, start + PIECE);
}

/** The bytes of chunks. Strings may end in the middle of a character. */
async function* encode(chunks, invalid) {
	let half = "";
	for await (const chunk of chunks) {
		const isText = typeof chunk === "string";
		if (!isText && !isUint8Array(chunk)) throw invalid("strings or Uint8Arrays", typeof chunk);
		const text = half + (isText ? chunk : "");
		half = isText ? (FIRST_HALF.exec(text)?.[0] ?? "") : "";
		if (text !== half) yield Buffer.from(text.slice(0, text.length - half.length));
		if (!isText) yield chunk;
	}
	yield Buffer.from(half);
}

/** Joins short chunks that are available. None waits for a later one. */
async function* joined(chunks) {
	let isWaiting = false;
	let failure;
	async function* each() {
		try {
			for (;;) {
				isWaiting = true;
				const { done, value } = await chunks.next();
				isWaiting = false;
				if (done) return;
				yield value;
			}
		} catch (error) {
			failure = { error };
		}
	}
	try {
		yield* Readable.from(each(), { objectMode: false, highWaterMark: JOINED });
		// Thrown here, because a failing stream would lose the chunks before the error.
		if (failure) throw failure.error;
	} finally {
		const closed = chunks.return().catch(ignore);
		// What it waits for may never come.
		if (!isWaiting) await closed;
	}
}

/** Converts bytes, such as images in messages, to base64. As lists of numbers they would take very long. */
function inBase64(_, value) {
	if (!isUint8Array(value)) return value;
	const { buffer, byteOffset, byteLength } = value;
	return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function toJson(value, invalid) {
	const expected = "a value that JSON can express";
	try {
		const json = JSON.stringify(value, inBase64);
		if (json !== undefined) return json;
	} catch (cause) {
		throw invalid(expected, reasonOf(cause), cause);
	}
	throw invalid(expected, "nothing");
}

/** One source of an import: the file `path`, or else `data`. */
class Source {
	#data;
	#place;
	#stats;
	#stream;
	#pieces;
	#isReading = false;
	#isClosed = false;

	constructor(place, given) {
		const { name = place, path, data: value } = own(given);
		const data = contentsOf(value);
		this.name = name;
		this.path = path;
		this.isStream = isStream(data);
		this.#place = place;
		this.#data = data;
		if (this.isStream) this.#stream = data;
		// A stream may fail before it is read; the error is reported then.
		this.#stream?.on?.("error", ignore);
	}

	/** Finds out what its file is, before it is read: the traces of a pipe cannot wait for the end either. */
	async inspect() {
		// Opening it tells why there is no file.
		this.#stats = await stat(this.path).catch(() => undefined);
		this.isStream = this.#stats?.isFIFO() ?? false;
	}

	/** Resolves to the next bytes; undefined at the end. The first call reads all messages before it returns. */
	async read() {
		// Closed while it was inspected: nobody would close the file that this opens.
		if (this.#isClosed) return undefined;
		this.#pieces ??= this.#open();
		this.#isReading = true;
		try {
			return (await this.#pieces.next()).value;
		} finally {
			this.#isReading = false;
		}
	}

	/** Ends reading, and closes the file or stream, even if reading has not begun. */
	async close(signal) {
		this.#isClosed = true;
		const stream = this.#stream;
		const end = stream?.destroy ?? stream?.cancel;
		if (end) (async () => end.call(stream))().catch(ignore);
		const closed = Promise.resolve(this.#pieces?.return()).catch(ignore);
		// What it waits for may never come. A file closes in any case.
		if (!this.#isReading) await untilClosed(this.path ? undefined : signal, closed);
	}

	async *#open() {
		for await (const bytes of this.#bytes())
			for (let start = 0; start < bytes.length; start += PIECE)
				yield bytes.subarray(start, start + PIECE);
	}

	async *#file(path) {
		const stream = await openStream(path, this.#stats);
		try {
			if (!stream) return yield* contents(path);
			this.#stream = stream;
			if (this.#isClosed) stream.destroy();
			yield* stream;
		} catch (thrown) {
			const error = named(thrown, path);
			const isList = error.code === "EISDIR" || (error.code === "ENOENT" && /[*?]/.test(path));
			if (isList) error.message += "; list files with fs.readdir() or fs.glob()";
			throw error;
		}
	}

	#bytes() {
		const data = this.#data;
		const invalid = (expected, found, cause) =>
			new ImportError(`${this.#place}: expected ${expected}, got ${found}`, {
				code: "INVALID_OPTION",
				path: this.#place,
				source: this.name,
				...(cause && { cause }),
			});
		if (this.path !== undefined) return this.#file(this.path);
		if (isUint8Array(data)) return encode([data], invalid);
		if (!this.#stream)
			return encode(slices(typeof data === "string" ? data : toJson(data, invalid)), invalid);
		if (typeof data.getReader !== "function") return joined(encode(data, invalid));
		this.#stream = data.getReader();
		return joined(encode(chunksOf(this.#stream), invalid));
	}
}

function sourceOf(value, place) {
	if (isData(value) || (isString(value) && TEXT.test(value)))
		return new Source(place, { name: isBody(value) ? value.name : undefined, data: value });
	if (isString(value) || isUrl(value)) {
		const name = fileOf(value, place);
		// An empty path is not the working directory.
		return new Source(place, { name, path: name && resolve(name) });
	}
	const expected = "a path, a URL, text, bytes, a stream, a Blob or an array of messages";
	check(isObject(value) && Object.hasOwn(value, "data"), place, expected, value);
	const { name, data } = own(value);
	check(isString(name), `${place}.name`, "a string", name);
	const isKnown = isString(data) || (isObject(data) && !isUrl(data));
	const shown = isUrl(data) ? data.href : data;
	check(isKnown, `${place}.data`, "text, bytes, a stream or messages", shown);
	return new Source(place, { name, data });
}

function sourcesOf(given) {
	if (!Array.isArray(given) || (given.length > 0 && given.every(isMessage)))
		return [sourceOf(given, "source")];
	return given.map((value, index) =>
		sourceOf(value, given.length === 1 ? "source" : `sources[${index}]`),
	);
}

module.exports = { Source, sourcesOf };
