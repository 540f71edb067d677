/** Reads the rows in sources, or scores the logs in them. */
const { isUtf8 } = require("node:buffer");
const { evaluate } = require("./engine.js");
const { InputError } = require("./exit.js");
const { openScorer } = require("./scorer.js");
const { decoded } = require("./sources.js");
const { DIMENSIONS, parsed } = require("./terminal.js");

/** The longest line in bytes, as in `importTraces`. */
const LONGEST = 256 << 20;

const LINE_FEED = 10;

async function* joined(...iterables) {
	for (const iterable of iterables) yield* iterable;
}

/** The lines of UTF-8, without byte order mark, line ends and blank lines: `[number, text]`. */
async function* linesOf(chunks, name) {
	let number = 1;
	let length = 0;
	let parts = [];
	const check = (fits, expected, found) => {
		if (!fits) throw new InputError(`${name}:${number}: expected ${expected}, found ${found}`);
	};
	for await (const chunk of joined(chunks, [Buffer.of(LINE_FEED)])) {
		for (let start = 0; ; ) {
			const end = chunk.indexOf(LINE_FEED, start);
			const part = chunk.subarray(start, end < 0 ? undefined : end);
			length += part.length;
			check(length <= LONGEST, "a line of at most 256 MiB", "a longer one");
			parts.push(part);
			if (end < 0) break;
			const bytes = Buffer.concat(parts);
			check(isUtf8(bytes), "UTF-8", "other bytes");
			const line = bytes.toString().trim();
			if (line !== "") yield [number, line];
			number += 1;
			length = 0;
			parts = [];
			start = end + 1;
		}
	}
}

const isTextOrNothing = (value) => typeof (value ?? "") === "string";

const isRow = ({ score, dimensions, overrides = [], id, objective }) =>
	Number.isFinite(score) &&
	Object.keys(DIMENSIONS).every((name) => Number.isFinite(dimensions?.[name])) &&
	Array.isArray(overrides) &&
	isTextOrNothing(id) &&
	isTextOrNothing(objective);

const isError = (value) => typeof value?.error?.code === "string";

/** Whether a line is, or is meant to be, output of `kp-score score --json`. */
const isFromScore = (value) =>
	(typeof value?.score === "number" && "dimensions" in value) || isError(value);

/** Returns `{ rows }` if `kp-score score` wrote a source, else `{ log }`, an unread source. An abort ends a stream. */
async function contentOf(source, signal) {
	const { name } = source;
	const lines = linesOf(decoded(source, signal), name);
	const { value: first, done } = await lines.next().catch((error) => {
		if (source.isStream) throw error;
		// It may be compressed; otherwise the importer reports what is wrong.
		return { value: [1, ""] };
	});
	if (done && source.isFound) return { log: source };
	if (done) throw new InputError(`${name}: it is empty`);
	const all = joined([first], lines);
	if (isFromScore(parsed(first[1]))) return { rows: rowsOf(all, name) };
	if (source.isStream) return { log: { name, isStream: true, data: textOf(all) } };
	await lines.return();
	return { log: source };
}

/** Yields rows with their places. */
async function* rowsOf(lines, name) {
	for await (const [number, text] of lines) {
		const value = parsed(text) ?? {};
		if (isRow(value)) yield [value, `${name}:${number}`];
		else if (!isError(value))
			throw new InputError(`${name}:${number}: expected a row as kp-score score --json writes it`);
	}
}

async function* textOf(lines) {
	for await (const [, line] of lines) yield `${line}\n`;
}

/** Scores logs, as `kp-score score` does, and passes their rows to `take`. */
async function scoreAll(logs, job, take) {
	await job.read(logs);
	const { known, scorer } = await openScorer(job);
	const settings = { isNeeded: true, isShown: true, saysErrors: true };
	const remarks = await job.each(evaluate(scorer, job, known), take, settings);
	remarks.warnOfTexts(scorer, true);
	remarks.warnOfDomain();
}

/** Yields the rows in sources with their places, and adds those that have none to `logs`. */
async function* rowsIn(sources, { labels, options, signal }, logs) {
	for (const source of sources) {
		const { rows, log } = await contentOf(source, signal);
		if (log) logs.push(log);
		else if (options.group !== undefined)
			throw new InputError(`--group is for logs: the rows in ${source.name} have their groups`);
		else
			for await (const [row, place] of rows) {
				labels?.use(row);
				yield [row, place];
			}
	}
}

/** Returns what `made` returns. An error of a row gets its place. */
function placed(place, made) {
	try {
		return made();
	} catch ({ message }) {
		throw new InputError(`${place}: ${message}`);
	}
}

/** Passes each row of the sources, and the place of one that was read, to `take`, and scores logs with `score`, unless there are rows. */
async function eachRow(sources, job, take, score = scoreAll) {
	const logs = [];
	let hasRows = false;
	try {
		for await (const [row, place] of rowsIn(sources, job, logs)) {
			hasRows = true;
			await take(row, place);
			if (job.signal.aborted) return undefined;
		}
	} catch (error) {
		if (job.signal.aborted) return undefined;
		throw error;
	}
	if (hasRows && logs.length > 0)
		throw new InputError(`expected rows or logs, found both: ${logs[0].name} has no rows`);
	return logs.length > 0 ? score(logs, job, take) : undefined;
}

module.exports = { contentOf, eachRow, placed };
