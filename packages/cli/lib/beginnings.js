/** The beginnings of files, of which very many are read in threads beside each other; it is what these run, too. */
const { closeSync, constants, fstatSync, openSync, readSync } = require("node:fs");
const { once } = require("node:events");
const { setImmediate } = require("node:timers/promises");
const { Worker, parentPort, workerData } = require("node:worker_threads");
const { onAbort, until } = require("@knowledgepulse/scoring/internal/signals");
const { InputError } = require("./exit.js");

/** Byte order marks of UTF-16, which Windows PowerShell's `>` writes. */
const UTF_16 = { fffe: "utf-16le", feff: "utf-16be" };

/** Returns a function that yields the text in UTF-8 of the next chunk, or of the end, decompressed as the importer does. */
function decoder(name) {
	const { native } = require("@knowledgepulse/scoring/internal/native");
	const archive = new native.Archive();
	const next = (isEnd) => {
		try {
			return archive.next(isEnd);
		} catch ({ message }) {
			throw new InputError(`${name}: ${message}`);
		}
	};
	/** Of UTF-16; null for UTF-8. */
	let text;
	return function* decode(chunk = undefined) {
		if (chunk) archive.push(chunk);
		const isEnd = chunk === undefined;
		for (let bytes = next(isEnd); bytes; bytes = next(isEnd)) {
			const encoding = UTF_16[bytes.toString("hex", 0, 2)];
			if (text === undefined) text = encoding ? new TextDecoder(encoding) : null;
			yield text ? Buffer.from(text.decode(bytes, { stream: true })) : bytes;
		}
	};
}

/** How much of a file is read to find its time, in bytes. */
const BEGINNING = 1 << 16;

/** The first time of a log: as text, or as a number since 1970, from seconds to nanoseconds. */
const TIME =
	/"[\w-]{1,80}"\s{0,9}:\s{0,9}(?:"(\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-][\d:]{4,5})?)"|(?<=(?:time|date|created|ts|at)[\w-]{0,20}"\s{0,9}:\s{0,9})"?(\d{10}(?:\d{3}){0,3})\b)/i;

const buffer = Buffer.alloc(BEGINNING);

/** The first bytes of JSON. */
const PLAIN = Buffer.from("{[ \t\r\n");

/** The beginning of an open file as text, as far as it can be decompressed. */
function textOf(file, path) {
	let text = "";
	try {
		let length = readSync(file, buffer);
		// Most are neither compressed nor UTF-16, and need no addon.
		if (length === 0 || PLAIN.includes(buffer[0])) return buffer.latin1Slice(0, length);
		for (const decode = decoder(path); text.length < BEGINNING; length = readSync(file, buffer)) {
			const chunk = length > 0 ? buffer.subarray(0, length) : undefined;
			for (const bytes of decode(chunk)) text += bytes.toString("latin1");
			if (length === 0) break;
		}
	} catch {
		// It fails when it is imported.
	}
	return text.slice(0, BEGINNING);
}

/** The time of a file, which is the first one in its beginning, or when it was changed, and its size; NaN if unknown. */
function factOf(path) {
	let file;
	try {
		file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
		const { mtimeMs, size } = fstatSync(file);
		const [, date, digits] = TIME.exec(textOf(file, path)) ?? [];
		const time = digits ? Number(digits.slice(0, 13).padEnd(13, "0")) : Date.parse(date);
		return [Number.isNaN(time) ? mtimeMs : time, size];
	} catch {
		return [Number.NaN, Number.NaN];
	} finally {
		if (file !== undefined) closeSync(file);
	}
}

/** The number of files from which threads pay off, that of the threads, and how many files are read between two messages. */
const MANY = 2000;
const THREADS = 4;
const SOME = 200;

/** Yields the facts of some files after those of others. */
function* facts(paths) {
	for (let start = 0; start < paths.length; start += SOME)
		yield Float64Array.from(paths.slice(start, start + SOME).flatMap(factOf));
}

/** The facts of files from a thread. */
async function* factsFromThread(paths, signal) {
	const worker = new Worker(__filename, { workerData: { beginnings: paths } });
	const release = onAbort(signal, () => worker.terminate());
	let left = paths.length;
	const messages = [];
	worker.on("message", (some) => messages.push(some));
	try {
		while (left > 0) {
			if (messages.length === 0) await until(signal, once(worker, "message"));
			for (const some of messages.splice(0)) {
				left -= some.length / 2;
				yield some;
			}
		}
	} finally {
		release();
		await worker.terminate();
	}
}

/** Resolves to the time and size of each file, one after the other. `onRead` gets the number of files that were read. */
async function factsOf(paths, { onRead, signal }) {
	const all = new Float64Array(2 * paths.length);
	const share = paths.length < MANY ? paths.length : Math.ceil(paths.length / THREADS);
	const take = async (start) => {
		const own = paths.slice(start, start + share);
		let at = 2 * start;
		for await (const some of share < paths.length ? factsFromThread(own, signal) : facts(own)) {
			all.set(some, at);
			at += some.length;
			onRead?.(some.length / 2);
			await setImmediate();
			signal.throwIfAborted();
		}
	};
	const starts = [];
	for (let start = 0; start < paths.length; start += share) starts.push(start);
	await Promise.all(starts.map(take));
	return all;
}

if (workerData?.beginnings)
	for (const some of facts(workerData.beginnings)) parentPort.postMessage(some, [some.buffer]);

module.exports = { decoder, factsOf };
