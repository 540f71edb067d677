/** Files of one JSON value a line. */
const { createReadStream } = require("node:fs");
const { InputError } = require("./exit.js");

/** The lines of bytes in UTF-8, without a byte order mark, line ends and blank lines: `[number, text]`. */
async function* linesOf(chunks, name) {
	const decoder = new TextDecoder("utf-8", { fatal: true });
	const decode = (bytes, options, line) => {
		try {
			return decoder.decode(bytes, options);
		} catch {
			throw new InputError(`${name}: invalid UTF-8 after line ${line}`);
		}
	};
	let number = 0;
	let parts = [];
	for await (const chunk of chunks) {
		const [first, ...others] = decode(chunk, { stream: true }, number).split("\n");
		parts.push(first);
		for (const other of others) {
			number += 1;
			const line = parts.join("").trim();
			parts = [other];
			if (line !== "") yield [number, line];
		}
	}
	const last = (parts.join("") + decode(undefined, {}, number)).trim();
	if (last !== "") yield [number + 1, last];
}

const openSource = (source) =>
	typeof source === "string" ? createReadStream(source) : source.data;

const nameOf = (source) => (typeof source === "string" ? source : source.name);

function parse(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

const isRow = (value) => typeof value?.score === "number" && typeof value.dimensions === "object";

/** Whether it is what `kp-score score --json` writes. */
const isRowOrError = (value) => isRow(value) || typeof value?.error?.code === "string";

/** The text of a stream whose first lines were read already. */
async function* restored(lines, [, first]) {
	yield `${first}\n`;
	for await (const [, line] of lines) yield `${line}\n`;
}

/**
 * What is in a source: `{ rows }`, if it has the rows that `kp-score score` writes, or else
 * `{ traces }`, a source for `importTraces`. Errors among the rows are left out.
 */
async function contentOf(source) {
	const name = nameOf(source);
	const stream = openSource(source);
	const lines = linesOf(stream, name);
	const { value: first, done } = await lines.next();
	if (done) throw new InputError(`${name}: it is empty`);
	if (!isRowOrError(parse(first[1]))) {
		if (typeof source !== "string") return { traces: { name, data: restored(lines, first) } };
		stream.destroy();
		return { traces: source };
	}
	return { rows: rowsOf(first, lines, name) };
}

async function* rowsOf(first, lines, name) {
	const read = ([number, text]) => {
		const value = parse(text);
		if (isRowOrError(value)) return value;
		throw new InputError(`${name}:${number}: expected a row as kp-score score --json writes it`);
	};
	const head = read(first);
	if (isRow(head)) yield head;
	for await (const line of lines) {
		const row = read(line);
		if (isRow(row)) yield row;
	}
}

module.exports = { contentOf, linesOf, nameOf };
