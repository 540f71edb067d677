/** The class Scorer, which types/scorer.d.ts documents. */
const { Buffer } = require("node:buffer");
const { channel } = require("node:diagnostics_channel");
const { clearTimeout, setTimeout } = require("node:timers");
const { ScoringError } = require("./errors.js");
const { attempt, fail, native } = require("./native.js");
const {
	callOptions,
	check,
	fileOf,
	invalidOption,
	isString,
	kinds,
	oneOf,
	scorerOptions,
} = require("./options.js");
const { ignore, onAbort, until } = require("./signals.js");
const { piecesOf, readTrace } = require("./trace.js");

const LONGEST_TIMER = 2 ** 31 - 1;

const scored = channel("knowledgepulse.scoring.score");

const { flag, positive, remembered, share, signal, similarity } = kinds;

const parse = (json) => JSON.parse(json);

/** The sources of the novelty of traces that were compared, and so are in the memory if they are to be added. */
const COMPARED = ["cache", "empty-cache", "store"];

const inOrder = (...args) => require("./batch.js").inOrder(...args);

const closedError = () => new ScoringError("the scorer is closed", { code: "CLOSED" });

const textOf = (subject) =>
	typeof subject === "string" ? { text: piecesOf(subject) } : readTrace(subject);

const foundIn = (json) =>
	parse(json).map((found) => ({ ...found, addedAt: new Date(found.addedAt) }));

const SIGNAL = { signal };
const known = oneOf("score", "again");
const SCORE = { known, remember: flag, signal };
const DECIDE = { exact: flag, known, remember: remembered, signal, threshold: share };
const SNAPSHOT = { ages: flag, signal };
const SIMILAR = { atLeast: similarity, k: positive, signal };

module.exports = class Scorer {
	#native;
	#budgetMs;
	#cache;
	/** The connection to the store, if there is one. */
	#link;
	/** Aborted by `close`. */
	#closing = new AbortController();

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
		return this.#score(trace, options, false);
	}

	explainValue(trace, options) {
		return this.#score(trace, options, true);
	}

	async evaluateValues(traces, options) {
		const scores = [];
		const call = (trace, options) => this.evaluateValue(trace, options);
		for await (const score of inOrder(call, traces, options, this.#closing.signal))
			scores.push(score);
		return scores;
	}

	explainValues(traces, options) {
		const call = (trace, options) => this.explainValue(trace, options);
		return inOrder(call, traces, options, this.#closing.signal);
	}

	select(traces, options) {
		const { select } = require("./select.js");
		const call = (submit, signal) => this.#call(submit, { signal });
		return select(this.#native, call, this.#closing.signal, traces, options);
	}

	evaluateLogs(sources, options) {
		const { evaluateLogs } = require("./logs.js");
		return evaluateLogs(this.#native, this.#closing.signal, this.#link, sources, options);
	}

	#score(trace, options, reports) {
		let adds;
		const submit = (handle, { known, remember = true }) => {
			const { head, text, objective } = readTrace(trace);
			const once = known === "again";
			adds = remember;
			// Only a report says whether the trace was known, or could be added.
			const wants = reports || once || (adds && scored.hasSubscribers);
			return this.#native.score(head, text, objective, handle, adds, once, wants);
		};
		return this.#call(submit, options, SCORE, (outcome) => {
			const [isKnown, given] = typeof outcome === "string" ? parse(outcome) : [];
			const [score, report] = [given?.score ?? outcome, reports ? given : undefined];
			if (adds && given && !isKnown) this.#publish(trace, given, report);
			return report ?? score;
		});
	}

	#publish(trace, { novelty, score }, report) {
		const isAdded = COMPARED.includes(novelty.source);
		if (isAdded && scored.hasSubscribers) scored.publish({ scorer: this, trace, score, report });
	}

	async decide(trace, options) {
		const given = callOptions(options, DECIDE);
		const { exact = false, known, remember = "accepted" } = given;
		const { head, text, objective } = readTrace(trace);
		const addsAll = remember === "all";
		const judge = () => this.#native.judge(head, given.threshold, exact || addsAll);
		const { bounds, isRejected, threshold } = parse(attempt(judge));
		const tooLow = `whatever its novelty, it scores at most ${bounds[1]}: below the threshold, ${threshold}`;
		const hint = bounds[1] < threshold ? tooLow : null;
		if (isRejected) return { accepted: false, score: null, bounds, novelty: null, hint };
		const adds = remember === "accepted" ? threshold : addsAll;
		const once = known === "again";
		const submit = (handle) => this.#native.score(head, text, objective, handle, adds, once, true);
		const [isKnown, report] = await this.#call(submit, { signal: given.signal }, SIGNAL, parse);
		const { novelty, score } = report;
		const accepted = score >= threshold;
		if ((addsAll || (accepted && remember)) && !isKnown) this.#publish(trace, report, report);
		return { accepted, score, bounds, novelty, hint: hint ?? report.hint };
	}

	similar(traceOrText, options) {
		const submit = (handle, { atLeast, k }) => {
			const { text, objective } = textOf(traceOrText);
			return this.#native.similar(text, objective, handle, k, atLeast);
		};
		return this.#call(submit, options, SIMILAR, foundIn);
	}

	remember(trace, options) {
		const submit = (handle) => {
			const { head, text, objective } = readTrace(trace);
			return this.#native.remember(head, text, objective, handle);
		};
		return this.#call(submit, options);
	}

	forget(id) {
		return this.#call((handle) => {
			check(isString(id) && id.isWellFormed(), "id", "a string without lone surrogates", id);
			return this.#native.forget(id, handle);
		});
	}

	clear() {
		return this.#call((handle) => this.#native.clear(handle), undefined, SIGNAL, ignore);
	}

	embed(traceOrText, options) {
		const submit = (handle) => {
			const { text, objective } = textOf(traceOrText);
			return this.#native.embed(text, objective, handle);
		};
		// Memory of the addon cannot be transferred to another thread.
		return this.#call(submit, options, SIGNAL, (vector) => vector.slice());
	}

	async snapshot(options) {
		const bytes = await this.#snapshot(options);
		const own = Buffer.allocUnsafeSlow(bytes.length);
		own.set(bytes);
		return own;
	}

	/** Resolves to the bytes of a snapshot, which are memory of the addon. */
	async #snapshot(options) {
		const { ages = true, signal } = callOptions(options, SNAPSHOT);
		return until(signal, this.#native.snapshot(ages).catch(fail));
	}

	static async restore(snapshot, options) {
		const given = scorerOptions(options, SIGNAL);
		check(ArrayBuffer.isView(snapshot), "snapshot", "a Uint8Array", snapshot);
		return until(given.signal, Scorer.#restored(snapshot, given));
	}

	async save(path, options) {
		const { replaceFile } = require("./file.js");
		const file = fileOf(path, "path");
		const bytes = await this.#snapshot(options);
		await replaceFile(file, bytes).catch((cause) => {
			throw new ScoringError(`cannot write ${file}: ${cause.message}`, {
				code: "SNAPSHOT_IO",
				path: file,
				cause,
			});
		});
	}

	static async load(path, options) {
		const { access, constants } = require("node:fs/promises");
		const file = fileOf(path, "path");
		const given = scorerOptions(options, SIGNAL);
		// The error of Node.js says more than that of the addon.
		const readable = access(file, constants.R_OK);
		return until(
			given.signal,
			readable.then(() => Scorer.#restored(file, given)),
		);
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

	/** `snapshot` is bytes, or the path of a file. */
	static async #restored(snapshot, options) {
		const restored = attempt(() => native.Scorer.restore(snapshot, options));
		return new Scorer(options, await restored.catch(fail));
	}

	warmup(options) {
		const submit = (handle) => this.#native.warmUp(handle);
		return this.#call(submit, options, SIGNAL, () => this.status());
	}

	close() {
		this.#closing.abort(closedError());
		this.#link?.close();
		this.#native.close();
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

	/**
	 * Makes a call, and resolves to `resultOf` its outcome. `submit` passes it to the addon, with its `known` options. All
	 * calls take as many microtasks, so they resolve in order.
	 */
	async #call(submit, options, known = SIGNAL, resultOf = (outcome) => outcome) {
		const given = callOptions(options, known);
		const { signal } = given;
		this.#closing.signal.throwIfAborted();
		const isLimited = signal !== undefined || this.#budgetMs !== undefined;
		const handle = isLimited ? new native.CallHandle() : undefined;
		let release;
		let timer;
		try {
			const promise = submit(handle, given);
			this.#link?.carry(promise);
			if (signal) release = onAbort(signal, () => handle.abort());
			// Only the call keeps the process alive, not the timer of its budget.
			if (this.#budgetMs !== undefined) {
				const ms = Math.min(this.#budgetMs, LONGEST_TIMER);
				timer = setTimeout(() => handle.endBudget(), ms).unref();
			}
			return resultOf(await promise);
		} catch (thrown) {
			if (native.Failure.is(thrown) && thrown.code === "ABORTED") throw signal.reason;
			return fail(thrown);
		} finally {
			clearTimeout(timer);
			release?.();
		}
	}
};
