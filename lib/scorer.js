/** The class Scorer, which types/scorer.d.ts documents. */
const { channel } = require("node:diagnostics_channel");
const { clearTimeout, setTimeout } = require("node:timers");
const { ScoringError } = require("./errors.js");
const { attempt, fail, native } = require("./native.js");
const {
	callOptions,
	check,
	fileOf,
	invalidOption,
	kinds,
	oneOf,
	own,
	scorerOptions,
} = require("./options.js");
const { ignore, onAbort, until } = require("./signals.js");
const { piecesOf, readTrace } = require("./trace.js");

/** The longest timeout of a timer, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

const scored = channel("knowledgepulse.scoring.score");

const { flag, positive, remembered, share, signal, similarity } = kinds;
const { CallKind } = native;

const parse = (json) => JSON.parse(json);

function readId(id) {
	check(typeof id === "string", "id", "a string", id);
	return { head: id };
}

const readText = (subject) =>
	typeof subject === "string" ? { text: piecesOf(subject) } : readTrace(subject);

/** The kinds of calls that decide on traces whose bounds do not, by `remember`. */
const DECIDING = new Map()
	.set("accepted", CallKind.Decide)
	.set("all", CallKind.Explain)
	.set(false, CallKind.PeekReport)
	.set("again", CallKind.AgainReport);

const SIGNAL = { signal };
const known = oneOf("score", "again");
const SCORE = { known, remember: flag, signal };
const DECIDE = { exact: flag, known, remember: remembered, signal, threshold: share };

// The operations of the methods. `peek` is the kind of a call with `remember: false`, `again` that with a known trace.
const EVALUATE = {
	kind: CallKind.Evaluate,
	peek: CallKind.Peek,
	again: CallKind.Again,
	known: SCORE,
};
const EXPLAIN = {
	kind: CallKind.Explain,
	peek: CallKind.PeekReport,
	again: CallKind.AgainReport,
	known: SCORE,
	map: parse,
};
const SIMILAR = {
	kind: CallKind.Similar,
	known: { atLeast: similarity, k: positive, signal },
	read: (subject, { atLeast, k }) => ({ ...readText(subject), given: { atLeast, k } }),
	map: (json) => parse(json).map((found) => ({ ...found, addedAt: new Date(found.addedAt) })),
};
const REMEMBER = { kind: CallKind.Remember };
const FORGET = { kind: CallKind.Forget, read: readId };
const CLEAR = { kind: CallKind.Clear, read: () => ({}), map: ignore };
const EMBED = { kind: CallKind.Embed, read: readText };
const WARM_UP = { kind: CallKind.WarmUp, read: () => ({}), map: (_, scorer) => scorer.status() };

module.exports = class Scorer {
	#native;
	#budgetMs;
	#cache;
	/** The connection to the store, if there is one. */
	#link;
	/** Resolves when all traces accepted by their bounds are in the cache; `#adding` counts those that are not. */
	#added = Promise.resolve();
	#adding = 0;
	#isClosed = false;

	/** `made` is an existing native scorer, with options that are read. */
	constructor(options, made) {
		const isMade = native.Scorer.is(made);
		const given = isMade ? options : scorerOptions(options);
		this.#native = isMade ? made : attempt(() => new native.Scorer(given));
		if (Number.isFinite(given.budgetMs)) this.#budgetMs = given.budgetMs;
		if (given.store) {
			const { StoreLink } = require("./store.js");
			this.#link = new StoreLink(this.#native, given);
		}
	}

	evaluateValue(trace, options) {
		return this.#call(EVALUATE, trace, options);
	}

	explainValue(trace, options) {
		return this.#call(EXPLAIN, trace, options);
	}

	async evaluateValues(traces, options) {
		const { inOrder } = require("./batch.js");
		const scores = [];
		const call = (trace, options) => this.evaluateValue(trace, options);
		for await (const score of inOrder(call, traces, options)) scores.push(score);
		return scores;
	}

	explainValues(traces, options) {
		const { inOrder } = require("./batch.js");
		return inOrder((trace, options) => this.explainValue(trace, options), traces, options);
	}

	evaluateLogs(sources, options) {
		const { evaluateLogs } = require("./logs.js");
		return evaluateLogs(this.#native, this.#link, sources, options);
	}

	async decide(trace, options) {
		const { exact = false, known, ...given } = callOptions(options, DECIDE);
		const input = readTrace(trace);
		const { head, confidence } = input;
		const isAgain = known === "again" && attempt(() => this.#native.knows(head, confidence));
		const remember = isAgain ? "again" : (given.remember ?? "accepted");
		const judge = () => this.#native.judge(head, confidence, given.threshold, exact);
		const { accepted, bounds, threshold } = parse(attempt(judge));
		const isAdded = (fits) => remember === "all" || (fits && remember === "accepted");
		if (accepted !== null) {
			this.#checkOpen();
			if (isAdded(accepted)) attempt(() => this.#add(input));
			return { accepted, score: null, bounds, novelty: null };
		}
		const read = () => ({ ...input, given: { threshold } });
		const operation = { kind: DECIDING.get(remember), read, map: parse };
		const report = await this.#call(operation, undefined, { signal: given.signal });
		const isAccepted = report.score >= threshold;
		if (isAdded(isAccepted)) scored.publish({ scorer: this, trace, score: report.score, report });
		return { accepted: isAccepted, score: report.score, bounds, novelty: report.novelty };
	}

	/** Adds a trace in call order: a score whose result is ignored. */
	#add({ head, text, confidence }) {
		const added = this.#native.call(CallKind.Evaluate, head, text, confidence);
		this.#link?.carry(added);
		this.#adding += 1;
		this.#added = added.catch(ignore).then(() => {
			this.#adding -= 1;
			if (this.#isClosed) this.close();
		});
	}

	similar(traceOrText, options) {
		return this.#call(SIMILAR, traceOrText, options);
	}

	remember(trace, options) {
		return this.#call(REMEMBER, trace, options);
	}

	forget(id) {
		return this.#call(FORGET, id);
	}

	clear() {
		return this.#call(CLEAR);
	}

	embed(traceOrText, options) {
		return this.#call(EMBED, traceOrText, options);
	}

	async snapshot(options) {
		const { signal } = callOptions(options, SIGNAL);
		await until(signal, this.#added);
		return until(signal, this.#native.snapshot().catch(fail));
	}

	static async restore(snapshot, options) {
		const given = scorerOptions(options, SIGNAL);
		check(ArrayBuffer.isView(snapshot), "snapshot", "a Uint8Array", snapshot);
		const pieces = attempt(() => new native.SnapshotPieces(snapshot.byteLength, "snapshot"));
		attempt(() => pieces.push(snapshot));
		return until(given.signal, Scorer.#restored(pieces, given, "snapshot"));
	}

	async save(path, options) {
		const { replaceFile } = require("./file.js");
		const file = fileOf(path, "path");
		const bytes = await this.snapshot(options);
		await replaceFile(file, bytes).catch((cause) => {
			throw new ScoringError(`cannot write ${file}: ${cause.message}`, {
				code: "SNAPSHOT_IO",
				path: file,
				cause,
			});
		});
	}

	static async load(path, options) {
		const { stat } = require("node:fs/promises");
		const { contents } = require("./sources.js");
		const file = fileOf(path, "path");
		const given = scorerOptions(options, SIGNAL);
		const load = async () => {
			const stats = await stat(file);
			// A device may have no end.
			if (!stats.isFile())
				throw invalidOption(file, "a snapshot", "no regular file", "INVALID_SNAPSHOT");
			const pieces = attempt(() => new native.SnapshotPieces(stats.size, file));
			for await (const piece of contents(file)) {
				given.signal?.throwIfAborted();
				pieces.push(piece);
			}
			return Scorer.#restored(pieces, given, file);
		};
		return until(given.signal, load().catch(fail));
	}

	static async open(path, /** @type {Record<string, any>} */ options = {}) {
		try {
			return await Scorer.load(path, options);
		} catch (error) {
			if (error?.code !== "ENOENT") throw error;
			const { signal, ...rest } = options;
			return new Scorer(rest);
		}
	}

	static async #restored(pieces, options, source) {
		const restored = attempt(() => native.Scorer.restore(pieces, options, source));
		return new Scorer(options, await restored.catch(fail));
	}

	warmup(options) {
		return this.#call(WARM_UP, undefined, options);
	}

	/** Accepted traces are added first, after the calls before them. */
	close() {
		this.#isClosed = true;
		if (this.#adding > 0) return;
		this.#link?.close();
		this.#native.close();
	}

	#checkOpen() {
		if (this.#isClosed) throw new ScoringError("the scorer is closed", { code: "CLOSED" });
	}

	[Symbol.dispose]() {
		this.close();
	}

	status() {
		const status = JSON.parse(attempt(() => this.#native.status()));
		return { ...status, budgetMs: this.#budgetMs ?? null, store: this.#link?.status ?? null };
	}

	get cache() {
		if (this.#link) throw invalidOption("store", "no store for cache", "one");
		const VectorCache = require("./vector-cache.js");
		this.#cache ??= Object.setPrototypeOf(this.#native.cache(), VectorCache.prototype);
		return this.#cache;
	}

	/** Makes a call, and resolves to `map` of its outcome. All calls take as many microtasks, so they resolve in order. */
	async #call(operation, subject, options) {
		const { kind, peek, again, known = SIGNAL, read = readTrace, map } = own(operation);
		const all = callOptions(options, known);
		const { remember, signal } = all;
		this.#checkOpen();
		const isLimited = signal !== undefined || this.#budgetMs !== undefined;
		const handle = isLimited ? new native.CallHandle() : undefined;
		let isPeek = false;
		let release;
		let timer;
		try {
			const { head = "", text, confidence = 0, given } = own(read(subject, all));
			const isAgain = all.known === "again" && this.#native.knows(head, confidence);
			isPeek = isAgain || remember === false;
			const made = isAgain ? again : isPeek ? peek : kind;
			const promise = this.#native.call(made, head, text, confidence, handle, given);
			this.#link?.carry(promise);
			if (signal) release = onAbort(signal, () => handle.abort());
			// Only the call keeps the process alive, not the timer of its budget.
			if (this.#budgetMs !== undefined) {
				const ms = Math.min(this.#budgetMs, LONGEST_TIMER);
				timer = setTimeout(() => handle.endBudget(), ms).unref();
			}
			const outcome = await promise;
			const result = map ? map(outcome, this) : outcome;
			// Scores of traces that were added to the cache.
			if (scored.hasSubscribers && peek !== undefined && !isPeek) {
				const report = map && result;
				scored.publish({ scorer: this, trace: subject, score: report?.score ?? result, report });
			}
			return result;
		} catch (thrown) {
			if (native.Failure.is(thrown) && thrown.code === "ABORTED") throw signal.reason;
			return fail(thrown);
		} finally {
			clearTimeout(timer);
			release?.();
		}
	}
};
