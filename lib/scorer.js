/** The class Scorer, which index.d.ts documents. */
const { channel } = require("node:diagnostics_channel");
const { readFile } = require("node:fs/promises");
const { clearTimeout, setTimeout } = require("node:timers");
const { evaluateAll } = require("./batch.js");
const { ScoringError, errorsOf } = require("./errors.js");
const { replaceFile } = require("./file.js");
const gatheringOf = require("./gather.js");
const logsOf = require("./logs.js");
const { invalidOption, signalOf } = require("./options.js");
const { onAbort } = require("./signals.js");
const { StoreLink, storeOptions } = require("./store.js");

/** The longest time that a timer takes, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

// As it is now: what tests put in its place may never run.
const { queueMicrotask } = globalThis;

const scored = channel("knowledgepulse.scoring.score");

function ignore() {}

function checkId(id) {
	if (typeof id !== "string") throw invalidOption("id", "a string", String(id));
}

/** Makes the class over the native one. */
module.exports = function scorerClass(native, VectorCache) {
	const { CallKind } = native;
	const { attempt, toError } = errorsOf(native);
	const { evaluateJson } = logsOf(native);
	const submit = gatheringOf(native);

	function fail(thrown) {
		throw toError(thrown);
	}

	return class Scorer {
		#native;
		#budgetMs;
		#cache;
		/** The way to the store, of a scorer that has one. */
		#link;
		/** Whether the calls that were made are about to begin. */
		#isStarting = false;

		constructor(options) {
			const store = storeOptions(options);
			this.#native =
				options instanceof native.Scorer ? options : attempt(() => new native.Scorer(options));
			this.#budgetMs = this.#native.budgetMs ?? undefined;
			if (store) this.#link = new StoreLink(this.#native, toError, store);
		}

		evaluateValue(trace, options) {
			return this.#score(CallKind.Evaluate, trace, options);
		}

		explainValue(trace, options) {
			return this.#score(CallKind.Explain, trace, options, JSON.parse);
		}

		peekValue(trace, options) {
			return this.#call(CallKind.Peek, trace, options);
		}

		async evaluateValues(traces, options) {
			return evaluateAll(this, traces, options);
		}

		evaluateJson(sources, options) {
			return evaluateJson(this.#native, this.#link, sources, options);
		}

		remember(trace, options) {
			return this.#call(CallKind.Remember, trace, options);
		}

		forget(id) {
			return this.#call(CallKind.Forget, id);
		}

		clear() {
			return this.#call(CallKind.Clear, undefined, undefined, ignore);
		}

		embed(traceOrText, options) {
			return this.#call(CallKind.Embed, traceOrText, options);
		}

		async snapshot(options) {
			this.#needsOwnCache("snapshot");
			const signal = signalOf(options);
			if (signal?.aborted) throw signal.reason;
			const bytes = await this.#native.snapshot().catch(fail);
			if (signal?.aborted) throw signal.reason;
			return bytes;
		}

		static async restore(snapshot, options) {
			return Scorer.#restored(snapshot, options, "snapshot");
		}

		async save(path, options) {
			const bytes = await this.snapshot(options);
			await replaceFile(String(path), bytes).catch((cause) => {
				throw new ScoringError(`cannot write ${path}: ${cause.message}`, {
					...{ code: "SNAPSHOT_IO", path: String(path), cause },
				});
			});
		}

		static async load(path, options) {
			return Scorer.#restored(await readFile(path), options, String(path));
		}

		static async #restored(bytes, options, source) {
			if (!ArrayBuffer.isView(bytes))
				throw invalidOption("snapshot", "a Uint8Array", String(bytes));
			if (storeOptions(options)) throw invalidOption("store", "no store with a snapshot", "one");
			const restored = attempt(() => native.Scorer.restore(bytes, options, source));
			return new Scorer(await restored.catch(fail));
		}

		warmup(options) {
			return this.#call(CallKind.WarmUp, undefined, options, () => this.status());
		}

		close() {
			this.#link?.close();
			this.#native.close();
		}

		status() {
			const status = JSON.parse(attempt(() => this.#native.status()));
			return { ...status, store: this.#link?.status ?? null };
		}

		get cache() {
			this.#needsOwnCache("cache");
			this.#cache ??= Object.setPrototypeOf(this.#native.cache(), VectorCache.prototype);
			return this.#cache;
		}

		#needsOwnCache(name) {
			if (this.#link) throw invalidOption("store", `no store for ${name}`, "one");
		}

		/** A call that enters the cache: subscribers hear of its score. */
		#score(kind, trace, options, read) {
			if (!scored.hasSubscribers) return this.#call(kind, trace, options, read);
			return this.#call(kind, trace, options, (outcome) => {
				const report = read?.(outcome);
				const score = report ? report.score : outcome;
				scored.publish({ scorer: this, trace, score, report });
				return report ?? score;
			});
		}

		/** Threads begin when JavaScript has made its calls: to wake one for each takes longer than the call. */
		#submit(kind, subject, handle) {
			if (kind === CallKind.Forget) checkId(subject);
			const promise = submit(this.#native, kind, subject, handle);
			if (!this.#isStarting) {
				this.#isStarting = true;
				queueMicrotask(() => {
					this.#isStarting = false;
					this.#native.start();
				});
			}
			this.#link?.carry(promise);
			return promise;
		}

		/**
		 * The promise of a call, which resolves to what `map` makes of its outcome. All calls settle in
		 * their order, and so all take the same number of steps.
		 */
		#call(kind, trace, options, map) {
			try {
				const signal = signalOf(options);
				if (signal?.aborted) return Promise.reject(signal.reason);
				if (signal === undefined && this.#budgetMs === undefined)
					return this.#submit(kind, trace).then(map, fail);
				const handle = new native.CallHandle();
				const promise = this.#submit(kind, trace, handle);
				const release = signal && onAbort(signal, () => handle.abort());
				// The pending call keeps the process alive, not its timer.
				const timer =
					this.#budgetMs === undefined
						? undefined
						: setTimeout(() => handle.endBudget(), Math.min(this.#budgetMs, LONGEST_TIMER)).unref();
				return promise.then(
					(outcome) => {
						clearTimeout(timer);
						release?.();
						return map ? map(outcome) : outcome;
					},
					(thrown) => {
						clearTimeout(timer);
						release?.();
						if (thrown.code === "ABORTED") throw signal.reason;
						throw toError(thrown);
					},
				);
			} catch (thrown) {
				return Promise.reject(toError(thrown));
			}
		}
	};
};
