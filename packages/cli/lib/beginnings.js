/** The beginnings of files. */
const { closeSync, constants, fstatSync, openSync, readSync } = require("node:fs");
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

/** The time of a file, which is the first one in its beginning, or when it was changed, and its size; nothing if unknown. */
function timeAndSizeOf(path) {
	let file;
	try {
		file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
		const { mtimeMs, size } = fstatSync(file);
		const [, date, digits] = TIME.exec(textOf(file, path)) ?? [];
		const time = digits ? Number(digits.slice(0, 13).padEnd(13, "0")) : Date.parse(date);
		return { time: Number.isNaN(time) ? mtimeMs : time, size };
	} catch {
		return {};
	} finally {
		if (file !== undefined) closeSync(file);
	}
}

module.exports = { decoder, timeAndSizeOf };
