/** What `-o` of import and select gets: traces, or messages for training. */
const { projectOf } = require("./facts.js");
const { Redaction } = require("./redaction/index.js");
const { jsonLine } = require("./terminal.js");

/** A trace that says whether its success is only assumed, and what a kept one stands for, also when it is read again. */
function traceOf({ trace, provenance, more, covers }) {
	const known = {
		...(provenance.successFrom === "assumed" && { success_from: "assumed" }),
		...(more && { stands_for: more.standsFor, covers }),
	};
	return { ...trace, metadata: { ...trace.metadata, ...known } };
}

/** The messages of a run in the format of OpenAI's chat completions, with what is known of the run. */
function messagesOf({ messages, tools, trace, provenance, more }) {
	const { source, successFrom } = provenance;
	const { id = null, metadata } = trace;
	const { key } = provenance;
	const known = { id, key, success: metadata.success, successFrom, project: projectOf(provenance) };
	const all = { ...known, ...more, source };
	return tools ? { messages, tools, metadata: all } : { messages, metadata: all };
}

const isMessages = ({ as }) => as === "messages";

/** Whether secrets are removed: of messages unless it is switched off, of traces on request. */
const isRedacted = (options) => options.redact ?? isMessages(options);

/** Writes runs as the options ask for, to standard output or a file. */
class Writer {
	#redaction;
	#options;

	static async open(options) {
		const writer = new Writer();
		writer.#options = options;
		if (isRedacted(options)) writer.#redaction = await Redaction.open();
		return writer;
	}

	/** Resolves to the line of a run: `{ trace, provenance }`, of messages with `messages`, `tools` and `more` metadata. */
	async lineOf(item) {
		const value = isMessages(this.#options) ? messagesOf(item) : traceOf(item);
		return jsonLine((await this.#redaction?.clean(value)) ?? value);
	}

	/** What was done about secrets; empty if nothing was asked for. */
	get text() {
		if (this.#redaction) return this.#redaction.text;
		return isMessages(this.#options) ? "secrets were not removed (--no-redact)" : "";
	}
}

module.exports = { Writer, isMessages, traceOf };
