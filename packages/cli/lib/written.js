/** What `-o` of import and select gets: traces, or messages for training. */
const { projectOf } = require("./facts.js");
const { Redaction } = require("./redaction/index.js");
const { count, jsonLine } = require("./terminal.js");

/** A trace that says whether its success is only assumed, and what a kept one stands for, also when it is read again. */
function traceOf({ trace, provenance, more, covers }) {
	const known = {
		...(provenance.successFrom === "assumed" && { success_from: "assumed" }),
		...(more && { stands_for: more.standsFor, covers }),
	};
	return { ...trace, metadata: { ...trace.metadata, ...known } };
}

/** The tools of calls, as far as these define them. */
function toolsIn(messages) {
	const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls);
	const names = new Set(calls.map((call) => call.function.name));
	const parameters = { type: "object" };
	return Array.from(names, (name) => ({ type: "function", function: { name, parameters } }));
}

/** The messages of a run in the format of OpenAI's chat completions, with what is known of the run. */
function messagesOf({ messages, tools = toolsIn(messages), trace, provenance, more }) {
	const { key, source, successFrom } = provenance;
	const { id = null, metadata } = trace;
	const known = { id, key, success: metadata.success, successFrom, project: projectOf(provenance) };
	return {
		messages,
		...(tools.length > 0 && { tools }),
		metadata: { ...known, ...more, source },
	};
}

const isMessages = ({ as }) => as === "messages";

/** Whether secrets are removed: of messages unless it is switched off, of traces on request. */
const isRedacted = (options) => options.redact ?? isMessages(options);

/** Writes runs as the options ask for, to standard output or a file. */
class Writer {
	#redaction;
	#options;
	#cut = 0;

	static async open(options) {
		const writer = new Writer();
		writer.#options = options;
		if (isRedacted(options)) writer.#redaction = await Redaction.open();
		return writer;
	}

	/** Resolves to the line of a run: `{ trace, provenance }`, of messages with `messages`, `tools` and `more` metadata. */
	async lineOf(item) {
		const value = isMessages(this.#options) ? messagesOf(this.#ended(item)) : traceOf(item);
		return jsonLine((await this.#redaction?.clean(value)) ?? value);
	}

	/** A run without what comes after its last answer: from that, a model can learn nothing. */
	#ended(item) {
		const end = item.messages.findLastIndex(({ role }) => role === "assistant") + 1;
		if (end === 0 || end === item.messages.length) return item;
		this.#cut += 1;
		return { ...item, messages: item.messages.slice(0, end) };
	}

	/** What was cut, and done about secrets; empty if nothing was asked for. */
	get text() {
		const cut = this.#cut > 0 && `${count(this.#cut, "run")} cut after the last answer`;
		const open = isMessages(this.#options) && "secrets were not removed (--no-redact)";
		const secrets = this.#redaction ? this.#redaction.text : open;
		return [cut, secrets].filter(Boolean).join("; ");
	}
}

module.exports = { Writer, isMessages, traceOf };
