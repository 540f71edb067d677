/** Reads what counts of a trace in JavaScript, where a property costs far less than through Node-API. */

// Taken once: what becomes of globals and prototypes later has no say in it.
const { isArray } = Array;
const { fromCharCode } = String;
const slice = Function.prototype.call.bind(String.prototype.slice);

/** Code units of a text that is copied as it is; of a longer one, the beginning mostly is enough. */
const SHORT = 8192;
/** Code units of all that is gathered: half of what a string can have. */
const LONGEST = 2 ** 28;

const SUCCESS = "\x01";
const FAILURE = "\0";
/** In the place of a length, as src/gathered.rs reads it: no name, and none of a tool that there is. */
const NONE = "\0";
const UNNAMED = "\x01";
/** Lengths follow what is reserved. */
const RESERVED = 4;
const LONGEST_NAME = 0xffff - RESERVED;

/** Longer ids are ignored. */
const LONGEST_ID = 1024;

function isObject(value) {
	return typeof value === "object" && value !== null;
}

function isString(value) {
	return typeof value === "string";
}

function field(name) {
	return fromCharCode(RESERVED + name.length) + name;
}

/** A type of step; those that the protocol knows by their number. */
function kindOf(type) {
	if (type === "thought") return "\0";
	if (type === "tool_call") return "\x01";
	if (type === "observation") return "\x02";
	if (type === "error_recovery") return "\x03";
	return field(type);
}

/** Makes the function that submits calls, over the native module. */
module.exports = function gatheringOf({ misfit }) {
	function check(fits, value, expected, path, step) {
		if (fits) return;
		const place = step === undefined ? path : `steps[${step}]${path}`;
		throw misfit(value, expected, place);
	}

	/**
	 * Submits a call about a trace, of which it reads each property once, in the order and with the errors of
	 * the engine's own reader. Returns undefined, without a call, where there is too much to gather.
	 */
	function submitGathered(scorer, call, trace, handle) {
		const { metadata } = trace;
		check(isObject(metadata), metadata, "an object", "metadata");
		const domain = metadata.task_domain;
		check(isString(domain), domain, "a string", "metadata.task_domain");
		const { success } = metadata;
		const isBoolean = typeof success === "boolean";
		check(isBoolean, success, "a boolean", "metadata.success");

		const { outcome } = trace;
		check(isObject(outcome), outcome, "an object", "outcome");
		const { confidence } = outcome;
		const isShare = typeof confidence === "number" && confidence >= 0 && confidence <= 1;
		const share = "a finite number in [0, 1]";
		check(isShare, confidence, share, "outcome.confidence");

		const { task } = trace;
		check(isObject(task), task, "an object", "task");
		const { objective } = task;
		check(isString(objective), objective, "a string", "task.objective");
		if (domain.length > LONGEST_NAME || objective.length > LONGEST) return;
		let text = objective;
		let start = text.length > SHORT ? slice(text, 0, SHORT) : undefined;

		const list = trace.steps;
		check(isObject(list) && isArray(list), list, "an array", "steps");
		const { length } = list;
		const count = typeof length === "number" ? length : 0;
		let steps = "";
		// A proxy may give a length that is not whole.
		for (let index = 0; index + 1 <= count; index++) {
			const step = list[index];
			check(isObject(step), step, "an object", "", index);
			const { type } = step;
			check(isString(type), type, "a string", ".type", index);
			if (type.length > LONGEST_NAME) return;
			steps += kindOf(type);

			const { content } = step;
			const said = content ?? "";
			const optional = "a string, null or nothing";
			check(isString(said), content, optional, ".content", index);
			const together = text.length + said.length;
			if (together + steps.length > LONGEST) return;
			if (together >= SHORT) start ??= `${text} ${slice(said, 0, SHORT)}`;
			text += ` ${said}`;

			const { tool } = step;
			if (tool === undefined || tool === null) {
				steps += NONE;
				continue;
			}
			check(isObject(tool), tool, "an object, null or nothing", ".tool", index);
			const { name } = tool;
			if (name === undefined) {
				steps += UNNAMED;
				continue;
			}
			check(isString(name), name, "a string", ".tool.name", index);
			if (name.length > LONGEST_NAME) return;
			steps += field(name);
		}

		const { id } = trace;
		const isKept = isString(id) && id.length <= LONGEST_ID;
		const known = field(domain) + (isKept ? field(id) : NONE);
		const head = (success ? SUCCESS : FAILURE) + known + steps;
		const texts = start === undefined ? text : [start, text];
		return scorer.callGathered(call, head, texts, confidence, handle);
	}

	/**
	 * Submits a call. The engine's own reader takes what is no trace, and traces that are too long; their
	 * getters then run twice.
	 */
	return function submit(scorer, call, subject, handle) {
		const promise = isObject(subject) ? submitGathered(scorer, call, subject, handle) : undefined;
		return promise ?? scorer.call(call, subject, handle);
	};
};
