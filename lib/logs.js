/** Imports and scores of agents' own logs, which types/logs.d.ts documents. */
const { constants } = require("node:buffer");
const { isMap } = require("node:util/types");
const { ImportError, reasonOf } = require("./errors.js");
const { attempt, fail, native } = require("./native.js");
const { check, either, isObject, kind, kinds, oneOf, readOptions } = require("./options.js");
const { ignore, onAbort, until } = require("./signals.js");
const { Source, sourcesOf } = require("./sources.js");
const { Waiter } = require("./waiter.js");

const { MAX_STRING_LENGTH } = constants;

const { errors, flag, share, signal, text } = kinds;

const matching = (expected, pattern) =>
	kind(expected, (value) => text.fits(value) && pattern.test(value));

const MESSAGES_OPTIONS = {
	assumeSuccess: either('true, false or "skip"', flag, "skip"),
	confidence: either('"logprobs" or a number in [0, 1]', share, "logprobs"),
	// The addon parses it.
	createdAt: text,
	domain: text,
	errors,
	objective: matching("a text that is not blank", /\P{White_Space}/u),
	privacyLevel: oneOf("aggregated", "federated", "private"),
	signal,
	success: flag,
	visibility: oneOf("private", "org", "network"),
};

const LOG_FORMATS = Object.freeze(native.logFormats());

/** As rows of ids and labels. */
const labels = kind(
	"a Map or an object of booleans by trace id",
	(value) => isMap(value) || (isObject(value) && !(Symbol.iterator in value)),
	(given, path) => {
		const rows = isMap(given) ? [...given] : Object.entries(given);
		for (const [id, success] of rows) {
			check(text.fits(id), path, "trace ids as keys", id);
			check(flag.fits(success), `${path}.${id}`, flag.expected, success);
		}
		return rows;
	},
);

const IMPORT_OPTIONS = { ...MESSAGES_OPTIONS, format: oneOf(...LOG_FORMATS), labels };

const ROWS_OPTIONS = {
	...IMPORT_OPTIONS,
	group: matching('a JSON pointer, such as "/metadata/session_id"', /^(\/|$)/),
	known: oneOf("score", "skip", "again"),
	remember: flag,
};

/** An error of a report, without its source: the report names that. */
const shortened = ({ code, line = null, message }) => ({ code, line, message });

function unreadable({ name }, thrown) {
	if (thrown instanceof ImportError) return thrown;
	return new ImportError(`${name}: ${reasonOf(thrown)}`, {
		code: "UNREADABLE",
		source: name,
		cause: thrown,
	});
}

/** Reads the traces in sources, or with `scoring` their rows. */
class Reading {
	#native;
	#sources;
	#collects;
	#waiter = new Waiter();
	/** The last report. */
	#report = "[]";
	/** Errors of sources that the addon has not yet returned in order. */
	#unread = [];
	#signal;
	#closing;
	#chunks;

	constructor(sources, options, scorer = undefined, closing = undefined, link = undefined) {
		const { errors, group, known, remember, signal } = options;
		const peeks = remember === false;
		const look = known === "score" ? undefined : known;
		this.#collects = errors === "collect";
		this.#native = attempt(
			() => new native.LogReader(options, this.#collects, scorer, peeks, group, look),
		);
		onAbort(this.#waiter.signal, () => this.#native.abort());
		this.#sources = sources;
		this.#signal = signal;
		this.#closing = closing;
		this.#chunks = this.#read(link);
	}

	get report() {
		this.#report = attempt(() => this.#native.report()) ?? this.#report;
		const inputs = JSON.parse(this.#report);
		for (const input of inputs) input.errors = input.errors.map(shortened);
		const known = this.#native.known();
		return known === null ? { inputs } : { inputs, known };
	}

	lines() {
		return this.#waiter.iterator(this.#chunks, () => this.#close());
	}

	items() {
		const items = this.#waiter.iterator(this.#parse(), () => this.#close());
		return Object.defineProperty(items, "report", { get: () => this.report });
	}

	async *#parse() {
		for await (const lines of this.#chunks)
			for (let start = 0, end = 0; start < lines.length; start = end + 1) {
				// Each line ends with a line feed.
				end = lines.indexOf("\n", start);
				this.#waiter.throwIfFailed();
				const item = this.#itemOf(lines.subarray(start, end));
				const error = item.error && this.#errorOf(item.error);
				if (error && !this.#collects) throw error;
				yield error ? { error } : item;
			}
	}

	#itemOf(line) {
		// Longer text does not fit into a string.
		if (line.length <= MAX_STRING_LENGTH) return JSON.parse(line.toString());
		const source = this.report.inputs.at(-1)?.name;
		const message = `${source}: expected a trace of at most ${MAX_STRING_LENGTH} bytes as JSON, got ${line.length}`;
		return { error: { code: "TOO_LARGE", message, source } };
	}

	/** Yields lines of JSON from the addon. Input is read when the addon asks for it. */
	async *#read(link) {
		const [waiter, signal] = [this.#waiter, this.#signal];
		const release = onAbort(signal, () => waiter.fail(signal.reason));
		// The promise rejects when reading ends.
		link?.carry(until(waiter.signal, new Promise(ignore)));
		const input = this.#input();
		try {
			waiter.throwIfFailed();
			let feeding = waiter.start(() => input.next());
			for (let isPending = false, isLast = false; !isLast; ) {
				// Unless lines are pending, waits for input first: the promise of the addon keeps the
				// process alive, and a source may stay silent forever.
				if (!isPending && !feeding.isDone) await until(this.#closing, waiter.result(feeding));
				const ready = await waiter.result(waiter.start(() => this.#native.next()));
				if (ready.wantsInput) feeding = waiter.start(() => input.next());
				if (ready.lines.length > 0) yield ready.lines;
				if (ready.error) throw this.#errorOf(JSON.parse(ready.error));
				({ isPending, isLast } = ready);
			}
		} catch (thrown) {
			fail(thrown);
		} finally {
			release();
			await this.#close();
		}
	}

	/** Passes the sources to the addon, one piece in each step. */
	async *#input() {
		for (const [index, source] of this.#sources.entries()) {
			try {
				if (source.path !== undefined) await source.inspect();
				this.#native.open(source.name, source.isStream);
				for (let bytes = await source.read(); bytes; bytes = await source.read()) {
					this.#native.push(bytes);
					yield;
				}
				this.#native.end();
			} catch (thrown) {
				const error = unreadable(source, thrown);
				this.#unread.push(this.#collects ? error : thrown);
				this.#native.fail(error.code, error.message);
			}
			// Of very many files, none is kept.
			if (source.path !== undefined) this.#sources[index] = undefined;
			yield;
		}
		this.#native.finish();
	}

	#errorOf({ message, ...options }) {
		const { code, line } = options;
		const isOfSource = line === undefined && /^(UNREADABLE|INVALID_OPTION)$/.test(code);
		return (isOfSource && this.#unread.shift()) || new ImportError(message, options);
	}

	async #close() {
		this.#waiter.fail(undefined);
		await Promise.all(this.#sources.map((source) => source?.close(this.#signal)));
	}
}

exports.LOG_FORMATS = LOG_FORMATS;

exports.importTraces = function importTraces(sources, options = {}) {
	const given = readOptions(options, IMPORT_OPTIONS);
	return new Reading(sourcesOf(sources), given).items();
};

exports.toMessages = function toMessages(sources, options = {}) {
	const given = Object.assign(readOptions(options, IMPORT_OPTIONS), { messages: true });
	return new Reading(sourcesOf(sources), given).items();
};

exports.fromMessages = async function fromMessages(messages, options = {}) {
	check(Array.isArray(messages), "messages", "an array", messages);
	const given = readOptions(options, { ...MESSAGES_OPTIONS, provenance: flag });
	const unreadCalls = given.errors === "collect" ? "skip" : "reject";
	const source = new Source("messages", { data: messages });
	const reading = new Reading([source], Object.assign(given, { errors: undefined, unreadCalls }));
	try {
		for await (const item of reading.items()) {
			// The conversation is going on, while the time of a log is a function of its content.
			if (item.provenance.createdAtFrom === "none")
				item.trace.metadata.created_at = new Date().toISOString();
			return given.provenance ? item : item.trace;
		}
	} catch (error) {
		if (error?.code !== "UNKNOWN_FORMAT") throw error;
	}
	const { skipped } = reading.report.inputs[0];
	const reasons = Object.entries(skipped).map(([reason, count]) => `${reason} ${count}`);
	const none = messages.length === 0 ? "an empty array" : skipped.no_steps && "no answer";
	const found = `${none || "none"} (skipped: ${reasons.join(", ") || "nothing"})`;
	const message = `messages: expected a conversation that gives a trace, got ${found}`;
	throw new ImportError(message, { code: "NO_TRACE", source: "messages" });
};

/** `closing` is aborted by the scorer's `close`; `link` is the connection to its store, if it has one. */
exports.evaluateLogs = function evaluateLogs(scorer, closing, link, sources, options = {}) {
	const given = readOptions(options, ROWS_OPTIONS);
	const reading = new Reading(sourcesOf(sources), given, scorer, closing, link);
	return Object.assign(reading.items(), { lines: () => reading.lines() });
};
