/** Imports of agents' own logs, which index.d.ts documents. */
const { ImportError, errorsOf } = require("./errors.js");
const { checkOptions, invalidOption } = require("./options.js");
const { onAbort, until } = require("./signals.js");
const { Source, sourcesOf } = require("./sources.js");

const MESSAGES_OPTIONS = [
	...["assumeSuccess", "confidence", "createdAt", "domain", "objective"],
	...["privacyLevel", "signal", "success", "visibility"],
];

const OPTIONS = [...MESSAGES_OPTIONS, "errors", "format"];

/** Why reading ends when the caller has ended the iteration. */
const OVER = Symbol("over");

function check(options, known) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", String(options));
	checkOptions(options, known);
}

/** Makes the functions over the native class. */
module.exports = function importsOf(native) {
	const { attempt, toError } = errorsOf(native);

	class TraceImport {
		#native;
		#sources;
		#errors;
		#signal;
		/** Ends what is waited for. */
		#stop = new AbortController();
		#items = this.#run();
		/** The report as it was before what the addon is busy with. */
		#reported = '{"inputs":[]}';
		/** What the addon does not know of: why sources could not be read, in their order. */
		#failures = [];

		constructor(sources, { errors = "reject", signal, ...options }) {
			if (errors !== "reject" && errors !== "collect")
				throw invalidOption("errors", '"reject" or "collect"', String(errors));
			const paths = sources.flatMap(({ path }) => path ?? []);
			this.#native = attempt(() => new native.TraceImporter(options, paths));
			this.#sources = sources;
			this.#errors = errors;
			this.#signal = signal;
		}

		get report() {
			this.#reported = attempt(() => this.#native.report()) ?? this.#reported;
			const { inputs } = JSON.parse(this.#reported);
			for (const { index, name, isOpen, error } of this.#failures) {
				const nothing = {
					name,
					formats: [],
					traces: 0,
					skipped: {},
					errors: [],
				};
				if (!isOpen) inputs.splice(index, 0, nothing);
				inputs[index].errors.push(error);
			}
			for (const input of inputs)
				input.errors = input.errors.map(({ code, line = null, message }) => ({
					...{ code, line, message },
				}));
			return { inputs };
		}

		next() {
			return this.#items.next();
		}

		async return(value) {
			this.#stop.abort(OVER);
			// Before the first item, the generator has nothing to end.
			await this.#close();
			return this.#items.return(value);
		}

		[Symbol.asyncIterator]() {
			return this;
		}

		async #close() {
			await Promise.all(this.#sources.map((source) => source.close()));
		}

		async *#run() {
			const signal = this.#signal;
			const stop = () => this.#stop.abort(signal.reason);
			const release = signal && onAbort(signal, stop);
			if (signal?.aborted) stop();
			try {
				for (const [index, source] of this.#sources.entries())
					yield* this.#import(source, index);
			} catch (error) {
				if (error !== OVER) throw error;
			} finally {
				release?.();
				await this.#close();
			}
		}

		/** Waits for the addon or a source, but not after the end. */
		#wait(promise) {
			return until(this.#stop.signal, promise).catch((thrown) => {
				throw toError(thrown);
			});
		}

		async *#import(source, index) {
			const { name, path } = source;
			let isOpen = false;
			let error;
			for (;;) {
				let bytes;
				try {
					bytes = await this.#wait(source.read());
				} catch (thrown) {
					this.#stop.signal.throwIfAborted();
					error = this.#unreadable(name, thrown);
					break;
				}
				if (!isOpen) attempt(() => this.#native.open(name, path));
				isOpen = true;
				if (bytes === undefined) break;
				yield* this.#ready(this.#native.push(bytes));
			}
			if (isOpen) yield* this.#ready(this.#native.end());
			if (error) {
				this.#failures.push({ index, name, isOpen, error });
				yield { error };
			}
		}

		/** The error for a source that cannot be read to its end. */
		#unreadable(source, thrown) {
			if (this.#errors === "reject") throw thrown;
			if (thrown instanceof ImportError) return thrown;
			return new ImportError(`${source}: ${thrown?.message ?? thrown}`, {
				...{ code: "UNREADABLE", source, cause: thrown },
			});
		}

		/** What the addon makes of the bytes, beginning with what `items` resolves to. */
		async *#ready(items) {
			for (; ; items = this.#native.next()) {
				const ready = await this.#wait(items);
				if (ready.length === 0) return;
				for (const json of ready) {
					this.#stop.signal.throwIfAborted();
					const item = JSON.parse(json);
					yield item.error ? { error: this.#failure(item.error) } : item;
				}
			}
		}

		#failure({ message, ...options }) {
			const error = new ImportError(message, options);
			if (this.#errors === "reject") throw error;
			return error;
		}
	}

	function importTraces(sources, options = {}) {
		check(options, OPTIONS);
		return new TraceImport(sourcesOf(sources), options);
	}

	async function fromMessages(messages, options = {}) {
		if (!Array.isArray(messages))
			throw invalidOption("messages", "an array", typeof messages);
		check(options, MESSAGES_OPTIONS);
		const source = new Source("messages", { data: messages });
		const imported = new TraceImport([source], options);
		try {
			const { value } = await imported.next();
			if (value) return value.trace;
		} catch (error) {
			if (error?.code !== "UNKNOWN_FORMAT") throw error;
		} finally {
			await imported.return();
		}
		const reasons = Object.entries(imported.report.inputs[0].skipped).map(
			([reason, count]) => `${reason} ${count}`,
		);
		throw new ImportError(
			`messages: expected a conversation that gives a trace, got none (skipped: ${reasons.join(", ") || "nothing"})`,
			{ code: "NO_TRACE", source: "messages" },
		);
	}

	return { fromMessages, importTraces };
};
