/** Scores of what is in logs, as rows, which index.d.ts documents. */
const { invalidOption } = require("./options.js");
const { IMPORT_OPTIONS, check, readingOf } = require("./reading.js");
const { sourcesOf } = require("./sources.js");

const OPTIONS = [...IMPORT_OPTIONS, "group", "mode"];

const LINE_FEED = 10;

function ignore() {}

/** The lines of text in UTF-8, each of which ends with a line feed. */
function* split(bytes) {
	for (let start = 0; start < bytes.length; ) {
		const end = bytes.indexOf(LINE_FEED, start);
		yield bytes.toString("utf8", start, end);
		start = end + 1;
	}
}

/** Makes the function over the native class. */
module.exports = function rowsOf(native) {
	const Reading = readingOf(native);

	class JsonEvaluation {
		#reading;
		#link;
		#chunks;
		#items;
		/** Errors of sources that are on their way through the addon. */
		#unread = [];
		/** How often rows were taken, and who waits for the next time. */
		#taken = 0;
		/** @type {(value?: any) => void} */
		#onTaken = ignore;

		constructor(
			scorer,
			link,
			sources,
			/** @type {Record<string, any>} */ { group, mode, ...options },
		) {
			this.#reading = new Reading(
				sources,
				options,
				(known, collects) =>
					new native.TraceEvaluator(scorer, known, mode === "peek", group, collects),
			);
			this.#link = link;
			this.#chunks = this.#reading.run(() => this.#evaluate());
			this.#items = this.#parse();
		}

		get report() {
			return this.#reading.report;
		}

		next() {
			return this.#items.next();
		}

		async return(value) {
			await this.#reading.end();
			return this.#items.return(value);
		}

		[Symbol.asyncIterator]() {
			return this;
		}

		lines() {
			const chunks = this.#chunks;
			const lines = {
				next: () => chunks.next(),
				return: async (value) => {
					await this.#reading.end();
					return chunks.return(value);
				},
				[Symbol.asyncIterator]: () => lines,
			};
			return lines;
		}

		async *#parse() {
			for await (const lines of this.#chunks)
				for (const line of split(lines)) {
					if (this.#reading.isOver()) return;
					const item = JSON.parse(line);
					yield item.error ? { error: this.#failure(item.error) } : item;
				}
		}

		#failure(found) {
			const [unread] = this.#unread;
			if (found.line !== undefined || found.message !== unread?.message)
				return this.#reading.failure(found);
			return this.#unread.shift();
		}

		/** Lines as they are ready, while traces are submitted. */
		async *#evaluate() {
			const reading = this.#reading;
			const calls = reading.native;
			let end;
			this.#link?.carry(
				new Promise((resolve) => {
					end = resolve;
				}),
			);
			try {
				// Its failure counts after the rows before it.
				const submitted = this.#submit().then(ignore, (error) => ({ error }));
				for (let isOpen = true; isOpen; ) {
					const { lines, error, isLast } = await reading.wait(calls.rows());
					this.#taken += 1;
					this.#onTaken();
					if (lines.length > 0) yield lines;
					if (error) throw reading.failure(JSON.parse(error));
					isOpen = !isLast;
				}
				const failed = await submitted;
				if (failed) throw failed.error;
			} finally {
				end?.();
				await reading.end();
			}
		}

		/** Submits all traces, as fast as rows are taken. */
		async #submit() {
			const reading = this.#reading;
			const calls = reading.native;
			try {
				for await (const { answer, error } of reading.steps({
					ahead: true,
				})) {
					if (error) this.#collect(error);
					for (let isFull = answer; isFull; ) {
						const taken = this.#taken;
						isFull = await reading.wait(calls.next());
						if (isFull && taken === this.#taken) await this.#room();
					}
				}
			} finally {
				calls.finish();
			}
		}

		#collect(error) {
			const { code, source, message } = error;
			this.#unread.push(error);
			this.#reading.native.fail(JSON.stringify({ code, source, message }));
		}

		/** Waits until rows are taken. */
		#room() {
			const taken = new Promise((resolve) => {
				this.#onTaken = resolve;
			});
			return this.#reading.wait(taken);
		}
	}

	/** `link` is the way to the store, of a scorer that has one. */
	return function evaluateJson(scorer, link, sources, options = {}) {
		check(options, OPTIONS);
		const { mode = "evaluate", group } = options;
		if (mode !== "evaluate" && mode !== "peek")
			throw invalidOption("mode", '"evaluate" or "peek"', String(mode));
		if (group !== undefined && typeof group !== "string")
			throw invalidOption("group", "a JSON pointer", String(group));
		return new JsonEvaluation(scorer, link, sourcesOf(sources), options);
	};
};
