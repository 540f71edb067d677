/** Reads the rows in sources, or scores the logs in them. */
const { isUtf8 } = require("node:buffer");
const { addAbortSignal } = require("node:stream");
const { evaluate } = require("./engine.js");
const { InputError } = require("./exit.js");
const { sayError } = require("./run.js");
const { openSession } = require("./session.js");
const { inOrder, sourcesOf } = require("./sources.js");
const { DIMENSIONS } = require("./terminal.js");

/** The longest line in bytes, as in `importTraces`. */
const LONGEST = 256 << 20;

const LINE_FEED = 10;

/** The lines of UTF-8, without byte order mark, line ends and blank lines: `[number, text]`. */
async function* linesOf(chunks, name) {
	let number = 1;
	let length = 0;
	let parts = [];
	function take(bytes) {
		length += bytes.length;
		if (length > LONGEST)
			throw new InputError(
				`${name}:${number}: expected a line of at most 256 MiB, found a longer one`,
			);
		parts.push(bytes);
	}
	function* end() {
		const bytes = Buffer.concat(parts);
		if (!isUtf8(bytes))
			throw new InputError(`${name}:${number}: expected UTF-8, found other bytes`);
		const line = bytes.toString().trim();
		if (line !== "") yield [number, line];
		number += 1;
		length = 0;
		parts = [];
	}
	for await (const chunk of chunks) {
		let start = 0;
		for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, start)) {
			take(chunk.subarray(start, at));
			yield* end();
			start = at + 1;
		}
		take(chunk.subarray(start));
	}
	yield* end();
}

function parse(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

const isTextOrNothing = (value) => typeof (value ?? "") === "string";

const isRow = ({ score, dimensions, overrides = [], id, objective }) =>
	Number.isFinite(score) &&
	Object.keys(DIMENSIONS).every((name) => Number.isFinite(dimensions?.[name])) &&
	Array.isArray(overrides) &&
	isTextOrNothing(id) &&
	isTextOrNothing(objective);

const isError = ({ error }) => typeof error?.code === "string";

/** Whether a line is, or is meant to be, output of `kp-score score --json`. */
const isFromScore = (value) =>
	(typeof value?.score === "number" && "dimensions" in value) || isError(value ?? {});

/** The text of a stream whose first line has been read. */
async function* restored(lines, [, first]) {
	yield `${first}\n`;
	for await (const [, line] of lines) yield `${line}\n`;
}

/**
 * Returns the contents of a source: `{ rows }` if `kp-score score` wrote it, else `{ log }`, an
 * unread source. An aborted signal ends a stream.
 */
async function contentOf(source, signal) {
	const { name } = source;
	const bytes = source.bytes();
	// A stream may stay silent forever.
	if (source.isStream) addAbortSignal(signal, bytes);
	const lines = linesOf(bytes, name);
	const { value: first, done } = await lines.next().catch((error) => {
		if (source.isStream) throw error;
		// It may be compressed; otherwise the importer reports what is wrong.
		return { value: [1, ""] };
	});
	if (done && source.isFound) return { log: source };
	if (done) throw new InputError(`${name}: it is empty`);
	if (isFromScore(parse(first[1]))) return { rows: rowsOf(first, lines, name) };
	if (source.isStream)
		return { log: { name, isStream: true, bytes: () => restored(lines, first) } };
	await lines.return();
	return { log: source };
}

/** The rows in lines, without errors among them. */
async function* rowsOf(first, lines, name) {
	function* read([number, text]) {
		const value = parse(text) ?? {};
		if (isRow(value)) yield value;
		else if (!isError(value))
			throw new InputError(`${name}:${number}: expected a row as kp-score score --json writes it`);
	}
	yield* read(first);
	for await (const line of lines) yield* read(line);
}

/** Scores logs, as `kp-score score` does, and passes their rows to `take`. */
async function scoreAll(logs, run, take) {
	run.sources = await inOrder(logs, run);
	const { scorer } = await openSession(run.options);
	const settings = { isNeeded: true, isShown: true, onError: sayError };
	const remarks = await run.each(evaluate(scorer, run), take, settings);
	remarks.warnOfTexts(scorer, true);
	remarks.warnOfDomain();
}

/** Passes each row of the sources in the arguments to `take`. */
async function eachRow(args, run, take) {
	const logs = [];
	let hasRows = false;
	try {
		for (const source of await sourcesOf(args)) {
			const { rows, log } = await contentOf(source, run.signal);
			if (log) logs.push(log);
			else if (run.options.group !== undefined)
				throw new InputError(`--group is for logs: the rows in ${source.name} have their groups`);
			else
				for await (const row of rows) {
					hasRows = true;
					take(row);
					if (run.signal.aborted) return;
				}
		}
	} catch (error) {
		if (run.signal.aborted) return;
		throw error;
	}
	if (hasRows && logs.length > 0)
		throw new InputError(`expected rows or logs, found both: ${logs[0].name} has no rows`);
	if (logs.length > 0) await scoreAll(logs, run, take);
}

module.exports = { eachRow };
