/** How the sources of an import are read, whatever becomes of the traces in them. */
const { ImportError, errorsOf } = require("./errors.js");
const { checkOptions, invalidOption } = require("./options.js");
const { onAbort, until } = require("./signals.js");

const MESSAGES_OPTIONS = [
	...["assumeSuccess", "confidence", "createdAt", "domain", "objective"],
	...["privacyLevel", "signal", "success", "visibility"],
];

const IMPORT_OPTIONS = [...MESSAGES_OPTIONS, "errors", "format"];

/** Why reading ends when the caller has ended the iteration. */
const OVER = Symbol("over");

function ignore() {}

function check(options, known) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", String(options));
	checkOptions(options, known);
}

/** Makes the class over the native one. */
function readingOf(native) {
	const { attempt, toError } = errorsOf(native);

	return class Reading {
		#native;
		#sources;
		#errors;
		#signal;
		/** Ends what is waited for. */
		#stop = new AbortController();
		/** The report as it was before what the addon is busy with. */
		#reported = '{"inputs":[]}';
		/** What the addon does not know of: why sources could not be read, in their order. */
		#failures = [];

		/** `make` returns the native object that takes the bytes, from options and whether errors are collected. */
		constructor(
			sources,
			/** @type {Record<string, any>} */ { errors = "reject", signal, ...options },
			make,
		) {
			if (errors !== "reject" && errors !== "collect")
				throw invalidOption("errors", '"reject" or "collect"', String(errors));
			const native = attempt(() => make(options, errors === "collect"));
			this.#native = native;
			onAbort(this.#stop.signal, () => native.abort());
			this.#sources = sources;
			this.#errors = errors;
			this.#signal = signal;
		}

		get native() {
			return this.#native;
		}

		get report() {
			this.#reported = attempt(() => this.#native.report()) ?? this.#reported;
			const { inputs } = JSON.parse(this.#reported);
			for (const { index, name, isOpen, error } of this.#failures) {
				const nothing = {
					formats: [],
					bytes: 0,
					traces: 0,
					skipped: {},
					errors: [],
					errorCount: 0,
				};
				if (!isOpen) inputs.splice(index, 0, { name, ...nothing });
				inputs[index].errors.push(error);
				inputs[index].errorCount += 1;
			}
			for (const input of inputs)
				input.errors = input.errors.map(({ code, line = null, message }) => ({
					...{ code, line, message },
				}));
			return { inputs };
		}

		/** Ends it: for who waits, and for the sources. */
		end() {
			this.#stop.abort(OVER);
			return this.#close();
		}

		/** Whether the caller has ended it. Throws the reason of a signal that has. */
		isOver() {
			const { aborted, reason } = this.#stop.signal;
			if (aborted && reason !== OVER) throw reason;
			return aborted;
		}

		/** Waits for the addon or a source, but not after the end. */
		wait(promise) {
			return until(this.#stop.signal, promise).catch((thrown) => {
				throw toError(thrown);
			});
		}

		/** The items, until the end; then the sources are closed. */
		async *run(items) {
			const signal = this.#signal;
			const stop = () => this.#stop.abort(signal.reason);
			const release = signal && onAbort(signal, stop);
			if (signal?.aborted) stop();
			try {
				yield* items();
			} catch (error) {
				if (error !== OVER) throw error;
			} finally {
				release?.();
				await this.#close();
			}
		}

		/**
		 * Has the addon read all sources: what it has answered to each piece, and the `error` of a source.
		 * With `ahead`, a piece of a file is handed over before the answer to the one before counts; of
		 * streams, no more is read than is needed.
		 */
		async *steps({ ahead = false } = {}) {
			for (const [index, source] of this.#sources.entries()) {
				const { name, path } = source;
				let isOpen = false;
				const isAhead = ahead && path !== undefined;
				let last;
				let failed;
				for (;;) {
					let bytes;
					try {
						bytes = await this.wait(source.read());
					} catch (thrown) {
						this.#stop.signal.throwIfAborted();
						failed = { thrown };
						break;
					}
					if (!isOpen) attempt(() => this.#native.open(name));
					isOpen = true;
					if (bytes === undefined) break;
					const answer = this.wait(this.#native.push(bytes));
					// Rejections are those of the awaited promise.
					answer.catch(ignore);
					const due = isAhead ? last : answer;
					if (due) yield { answer: await due };
					last = answer;
				}
				if (isAhead && last) yield { answer: await last };
				const error = failed && this.#unreadable(name, failed.thrown);
				if (isOpen) yield { answer: await this.wait(this.#native.end()) };
				if (error) {
					this.#failures.push({ index, name, isOpen, error });
					yield { error };
				}
			}
		}

		/** The error that the addon has found; throws it unless errors are collected. */
		failure({ message, ...options }) {
			const error = new ImportError(message, options);
			if (this.#errors === "reject") throw error;
			return error;
		}

		/** The error for a source that cannot be read to its end. */
		#unreadable(source, thrown) {
			if (this.#errors === "reject") throw thrown;
			if (thrown instanceof ImportError) return thrown;
			return new ImportError(`${source}: ${thrown?.message ?? thrown}`, {
				...{ code: "UNREADABLE", source, cause: thrown },
			});
		}

		async #close() {
			await Promise.all(this.#sources.map((source) => source.close()));
		}
	};
}

module.exports = { IMPORT_OPTIONS, MESSAGES_OPTIONS, check, readingOf };
