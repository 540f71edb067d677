/** Files of one JSON value a line. */
const { addAbortSignal } = require("node:stream");
const { InputError } = require("./exit.js");

/** The longest line in bytes, as in `importTraces`. */
const LONGEST = 256 << 20;

const LINE_FEED = 10;

/** The lines of bytes in UTF-8, without a byte order mark, line ends and blank lines: `[number, text]`. */
async function* linesOf(chunks, name) {
	const decoder = new TextDecoder("utf-8", { fatal: true });
	let number = 1;
	let length = 0;
	let parts = [];
	function take(bytes, isLast) {
		length += bytes.length;
		if (length > LONGEST)
			throw new InputError(
				`${name}:${number}: expected a line of at most 256 MiB, found a longer one`,
			);
		try {
			parts.push(decoder.decode(bytes, { stream: !isLast }));
		} catch {
			throw new InputError(`${name}:${number}: expected UTF-8, found other bytes`);
		}
	}
	function* end() {
		const line = parts.join("").trim();
		if (line !== "") yield [number, line];
		number += 1;
		length = 0;
		parts = [];
	}
	for await (const chunk of chunks) {
		let start = 0;
		for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
			take(chunk.subarray(start, at), true);
			yield* end();
			start = at + 1;
		}
		take(chunk.subarray(start), false);
	}
	take(Buffer.alloc(0), true);
	yield* end();
}

function parse(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

const DIMENSIONS = ["complexity", "novelty", "toolDiversity", "outcomeConfidence"];

const isTextOrNothing = (value) => typeof (value ?? "") === "string";

const isRow = ({ score, dimensions, overrides = [], id, objective }) =>
	Number.isFinite(score) &&
	DIMENSIONS.every((name) => Number.isFinite(dimensions?.[name])) &&
	Array.isArray(overrides) &&
	isTextOrNothing(id) &&
	isTextOrNothing(objective);

const isError = ({ error }) => typeof error?.code === "string";

/** Whether it is what `kp-score score --json` writes, or is meant to be. */
const isFromScore = (value) =>
	(typeof value?.score === "number" && "dimensions" in value) || isError(value ?? {});

/** The text of a stream whose first lines were read already. */
async function* restored(lines, [, first]) {
	yield `${first}\n`;
	for await (const [, line] of lines) yield `${line}\n`;
}

/**
 * What is in a source: `{ rows }`, if it has the rows that `kp-score score` writes, or else
 * `{ traces }`, a source that has not been read. Errors among the rows are left out. An aborted signal ends
 * a stream.
 */
async function contentOf(source, signal) {
	const { name } = source;
	const bytes = source.bytes();
	// A stream may be silent for ever.
	if (source.isStream) addAbortSignal(signal, bytes);
	const lines = linesOf(bytes, name);
	const { value: first, done } = await lines.next();
	if (done) throw new InputError(`${name}: it is empty`);
	if (isFromScore(parse(first[1]))) return { rows: rowsOf(first, lines, name) };
	if (source.isStream)
		return { traces: { name, isStream: true, bytes: () => restored(lines, first) } };
	await lines.return();
	return { traces: source };
}

async function* rowsOf(first, lines, name) {
	const read = ([number, text]) => {
		const value = parse(text) ?? {};
		if (isRow(value) || isError(value)) return value;
		throw new InputError(`${name}:${number}: expected a row as kp-score score --json writes it`);
	};
	const head = read(first);
	if (!isError(head)) yield head;
	for await (const line of lines) {
		const row = read(line);
		if (!isError(row)) yield row;
	}
}

module.exports = { contentOf };
