/** Imports and scores of agents' own logs, which types/logs.d.ts documents. */
const { ImportError } = require("./errors.js");
const { attempt, fail, native } = require("./native.js");
const { check, either, kind, kinds, oneOf, readOptions } = require("./options.js");
const { ignore, onAbort, until } = require("./signals.js");
const { Source, sourcesOf } = require("./sources.js");

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

const IMPORT_OPTIONS = { ...MESSAGES_OPTIONS, format: oneOf(...native.logFormats()) };

const ROWS_OPTIONS = {
	...IMPORT_OPTIONS,
	group: matching('a JSON pointer, such as "/metadata/session_id"', /^(\/|$)/),
	known: oneOf("score", "skip", "again"),
	remember: flag,
};

/** The reason to stop when the caller ends the iteration. */
const OVER = Symbol("over");

/** An error of a report, without its source: the report names that. */
const shortened = ({ code, line = null, message }) => ({ code, line, message });

/** The error for a source that could not be read to its end. */
function unreadable({ name }, thrown) {
	if (thrown instanceof ImportError) return thrown;
	return new ImportError(`${name}: ${thrown?.message ?? thrown}`, {
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
	/** Aborted to end all waiting. */
	#stop = new AbortController();
	/** The last report. */
	#report = "[]";
	/** Errors of sources that the addon has not yet returned in order. */
	#unread = [];
	#chunks;

	constructor(sources, options, scorer = undefined, link = undefined) {
		const { errors, group, known, remember, signal } = options;
		const peeks = remember === false;
		const look = known === "score" ? undefined : known;
		this.#collects = errors === "collect";
		this.#native = attempt(
			() => new native.LogReader(options, this.#collects, scorer, peeks, group, look),
		);
		onAbort(this.#stop.signal, () => this.#native.abort());
		this.#sources = sources;
		this.#chunks = this.#read(signal, link);
	}

	get report() {
		this.#report = attempt(() => this.#native.report()) ?? this.#report;
		const inputs = JSON.parse(this.#report);
		for (const input of inputs) input.errors = input.errors.map(shortened);
		const known = this.#native.known();
		return known === null ? { inputs } : { inputs, known };
	}

	/** An iterator over the lines of JSON. */
	lines() {
		return this.#iterator(this.#chunks);
	}

	/** An iterator over the items, with the report. */
	items() {
		const items = this.#iterator(this.#parse());
		return Object.defineProperty(items, "report", { get: () => this.report });
	}

	/** An iterator whose `return` does not wait for the generator, which may be unstarted or pending. */
	#iterator(generator) {
		return {
			next: () => generator.next(),
			return: async (value) => {
				await this.#end();
				return generator.return(value);
			},
			[Symbol.asyncIterator]() {
				return this;
			},
		};
	}

	async *#parse() {
		// Each line ends with a line feed.
		for await (const lines of this.#chunks)
			for (const line of lines.toString().split("\n").slice(0, -1)) {
				const { aborted, reason } = this.#stop.signal;
				if (aborted && reason !== OVER) throw reason;
				if (aborted) return;
				const item = JSON.parse(line);
				yield item.error ? { error: this.#errorOf(item.error) } : item;
			}
	}

	/** Yields lines of JSON from the addon. Input is read when the addon asks for it. */
	async *#read(signal, link) {
		const stop = this.#stop.signal;
		const release = onAbort(signal, () => this.#stop.abort(signal.reason));
		// The promise rejects when reading ends.
		link?.carry(until(stop, new Promise(ignore)));
		try {
			stop.throwIfAborted();
			const input = this.#input();
			let feeding = input.next();
			for (let isPending = false, isLast = false; !isLast; ) {
				// Unless lines are pending, waits for input first: the promise of the addon keeps the
				// process alive, and a source may stay silent forever.
				if (!isPending) await until(stop, feeding);
				const ready = await until(stop, this.#native.next());
				if (ready.wantsInput) feeding = input.next();
				if (ready.lines.length > 0) yield ready.lines;
				if (ready.error) throw this.#errorOf(JSON.parse(ready.error));
				({ isPending, isLast } = ready);
			}
		} catch (thrown) {
			if (thrown !== OVER) fail(thrown);
		} finally {
			release();
			await this.#end();
		}
	}

	/** Passes the sources to the addon, one piece in each step. */
	async *#input() {
		for (const source of this.#sources) {
			try {
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
			yield;
		}
		this.#native.finish();
	}

	#errorOf({ message, ...options }) {
		const { code, line } = options;
		const isOfSource = line === undefined && /^(UNREADABLE|INVALID_OPTION)$/.test(code);
		return (isOfSource && this.#unread.shift()) || new ImportError(message, options);
	}

	/** Ends reading, and closes the sources. */
	async #end() {
		this.#stop.abort(OVER);
		await Promise.all(this.#sources.map((source) => source.close()));
	}
}

exports.importTraces = function importTraces(sources, options = {}) {
	const given = readOptions(options, IMPORT_OPTIONS);
	return new Reading(sourcesOf(sources), given).items();
};

exports.fromMessages = async function fromMessages(messages, options = {}) {
	check(Array.isArray(messages), "messages", "an array", messages);
	const given = readOptions(options, { ...MESSAGES_OPTIONS, provenance: flag });
	const unreadCalls = given.errors === "collect" ? "skip" : "reject";
	const source = new Source("messages", { data: messages });
	const reading = new Reading([source], Object.assign(given, { errors: undefined, unreadCalls }));
	try {
		for await (const item of reading.items()) return given.provenance ? item : item.trace;
	} catch (error) {
		if (error?.code !== "UNKNOWN_FORMAT") throw error;
	}
	const { skipped } = reading.report.inputs[0];
	const reasons = Object.entries(skipped).map(([reason, count]) => `${reason} ${count}`);
	const found = `none (skipped: ${reasons.join(", ") || "nothing"})`;
	const message = `messages: expected a conversation that gives a trace, got ${found}`;
	throw new ImportError(message, { code: "NO_TRACE", source: "messages" });
};

/** `link` is the connection to the store, if the scorer has one. */
exports.evaluateLogs = function evaluateLogs(scorer, link, sources, options = {}) {
	const given = readOptions(options, ROWS_OPTIONS);
	const reading = new Reading(sourcesOf(sources), given, scorer, link);
	return Object.assign(reading.items(), { lines: () => reading.lines() });
};
