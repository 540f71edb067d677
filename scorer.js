/** The class Scorer, which index.d.ts documents. */
const { channel } = require("node:diagnostics_channel");
const { setMaxListeners } = require("node:events");
const { readFile } = require("node:fs/promises");
const { evaluateAll } = require("./batch.js");
const { checkOptions, invalidOption } = require("./options.js");

/** What a call is to do; the order is that of the native code. */
const VALUE = 0;
const ACCOUNT = 1;
const PEEK_VALUE = 2;
const REMEMBER = 3;

const scored = channel("knowledgepulse.scoring.score");

/**
 * The signal in the options of a call, if there is one. What is no object is no options: as in
 * `traces.map(evaluateValue)`, where it is an index.
 */
function signalOf(options) {
	if (options === null || typeof options !== "object") return undefined;
	checkOptions(options, ["signal"]);
	return options.signal;
}

/** Makes the class over the native one. */
module.exports = function scorerClass(native, VectorCache) {
	return class Scorer {
		#native;
		#cache;

		constructor(options) {
			this.#native =
				options instanceof native.Scorer ? options : new native.Scorer(options);
		}

		evaluateValue(trace, options) {
			return this.#score(VALUE, trace, options);
		}

		explainValue(trace, options) {
			return this.#score(ACCOUNT, trace, options);
		}

		peekValue(trace, options) {
			return this.#call(PEEK_VALUE, trace, options);
		}

		async evaluateValues(traces, options) {
			return evaluateAll(this, traces, options);
		}

		remember(trace, options) {
			return this.#call(REMEMBER, trace, options);
		}

		forget(id) {
			if (typeof id !== "string")
				throw invalidOption("id", "a string", String(id));
			return this.#native.forget(id);
		}

		clear() {
			this.#native.clear();
		}

		snapshot() {
			return this.#native.snapshot();
		}

		static restore(buffer, options) {
			return new Scorer(native.Scorer.restore(buffer, options, "snapshot"));
		}

		async save(path) {
			const failed = await this.#native.save(String(path));
			if (failed) throw Object.assign(new Error(failed.message), failed);
		}

		static async load(path, options) {
			const buffer = await readFile(path);
			return new Scorer(native.Scorer.restore(buffer, options, String(path)));
		}

		warmup() {
			return promised(() => this.#native.warmup());
		}

		close() {
			this.#native.close();
		}

		status() {
			return this.#native.status();
		}

		get cache() {
			this.#cache ??= Object.setPrototypeOf(
				this.#native.cache(),
				VectorCache.prototype,
			);
			return this.#cache;
		}

		/** A call whose score subscribers hear of. */
		#score(task, trace, options) {
			const result = this.#call(task, trace, options);
			if (!scored.hasSubscribers) return result;
			return result.then((outcome) => {
				const report = task === ACCOUNT ? outcome : undefined;
				const score = report ? report.score : outcome;
				scored.publish({ scorer: this, trace, score, report });
				return outcome;
			});
		}

		#call(task, trace, options) {
			return promised(() => {
				const signal = signalOf(options);
				if (signal === undefined) return this.#native.call(task, trace);
				if (signal.aborted) return Promise.reject(signal.reason);
				return abortable(this.#native.start(task, trace), signal);
			});
		}
	};
};

/** What `call` returns, or throws, as a promise. An async function's would settle after later calls. */
function promised(call) {
	try {
		return call();
	} catch (error) {
		return Promise.reject(error);
	}
}

/** The promise of a call, or a rejection with the reason of the signal when that comes first. */
async function abortable({ promise, handle }, signal) {
	let aborted = false;
	const abort = () => {
		aborted = handle.abort();
	};
	// One signal for many calls is no leak: each takes its listener away.
	setMaxListeners(0, signal);
	signal.addEventListener("abort", abort, { once: true });
	try {
		return await promise;
	} catch (error) {
		throw aborted ? signal.reason : error;
	} finally {
		signal.removeEventListener("abort", abort);
	}
}
