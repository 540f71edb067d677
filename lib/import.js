/** Imports of agents' own logs, which index.d.ts documents. */
const { ImportError } = require("./errors.js");
const { invalidOption } = require("./options.js");
const { IMPORT_OPTIONS, MESSAGES_OPTIONS, check, readingOf } = require("./reading.js");
const { Source, sourcesOf } = require("./sources.js");

/** Makes the functions over the native class. */
module.exports = function importsOf(native) {
	const Reading = readingOf(native);

	class TraceImport {
		#reading;
		#items;

		constructor(sources, options) {
			this.#reading = new Reading(sources, options, (known) => new native.TraceImporter(known));
			this.#items = this.#reading.run(() => this.#import());
		}

		get report() {
			return this.#reading.report;
		}

		next() {
			return this.#items.next();
		}

		async return(value) {
			// Before the first item, the generator has nothing to end.
			await this.#reading.end();
			return this.#items.return(value);
		}

		[Symbol.asyncIterator]() {
			return this;
		}

		async *#import() {
			const reading = this.#reading;
			for await (const { answer, error } of reading.steps()) {
				if (error) yield { error };
				for (let ready = answer ?? []; ready.length > 0; ) {
					for (const json of ready) {
						if (reading.isOver()) return;
						const item = JSON.parse(json);
						yield item.error ? { error: reading.failure(item.error) } : item;
					}
					ready = await reading.wait(reading.native.next());
				}
			}
		}
	}

	function importTraces(sources, options = {}) {
		check(options, IMPORT_OPTIONS);
		return new TraceImport(sourcesOf(sources), options);
	}

	async function fromMessages(messages, options = {}) {
		if (!Array.isArray(messages)) throw invalidOption("messages", "an array", typeof messages);
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
