/** Reads and checks traces. Reading a property here costs far less than through Node-API. */
const { isPromise } = require("node:util/types");
const { InvalidTraceError } = require("./errors.js");
const { LONGEST_ID, describe, isObject, isString } = require("./options.js");

// Copied, so that later changes of globals and prototypes have no effect.
const { isArray } = Array;
const { bind, call } = Function.prototype;
const add = bind.call(call, Set.prototype.add);
const sizeOf = bind.call(call, Object.getOwnPropertyDescriptor(Set.prototype, "size").get);

/** Longer strings, in code units, are passed one by one, not joined. */
const LONG = 8192;

/** A text as pieces. Filling an array would call setters on prototypes. */
const piecesOf = (text) => ({ __proto__: null, length: 1, 0: text });

function check(fits, value, expected, at, step) {
	if (fits) return;
	const path = step === undefined ? at : `steps[${step}]${at}`;
	const message = `${path}: expected ${expected}, got ${describe(value)}`;
	throw new InvalidTraceError(message, { code: "INVALID_TRACE", path });
}

/**
 * Returns what scoring uses of a trace: `head`, which src/js/trace.rs describes; `text`, a string or its pieces; and
 * `objective`, the length of the objective, with which the text begins. Reads each of their properties once, and no other.
 */
function readTrace(trace) {
	check(isObject(trace), trace, "an object", "trace");
	const { metadata } = trace;
	if (!isObject(metadata)) {
		check(!isArray(trace), trace, "an object (see fromMessages)", "trace");
		check(!isPromise(trace), trace, "an object (await it)", "trace");
	}
	check(isObject(metadata), metadata, "an object", "metadata");
	const domain = metadata.task_domain;
	check(isString(domain), domain, "a string", "metadata.task_domain");
	const { success } = metadata;
	check(typeof success === "boolean", success, "a boolean", "metadata.success");

	const { outcome } = trace;
	check(isObject(outcome), outcome, "an object", "outcome");
	const { confidence } = outcome;
	const isShare = typeof confidence === "number" && confidence >= 0 && confidence <= 1;
	check(isShare, confidence, "a finite number in [0, 1]", "outcome.confidence");

	const { task } = trace;
	check(isObject(task), task, "an object", "task");
	const { objective } = task;
	check(isString(objective), objective, "a string", "task.objective");
	let text = objective;
	let pieces;
	const flush = () => {
		pieces ??= { __proto__: null, length: 0 };
		pieces[pieces.length] = text;
		pieces.length += 1;
		text = "";
	};
	if (text.length > LONG) flush();

	const list = trace.steps;
	check(isObject(list) && isArray(list), list, "an array", "steps");
	const { length } = list;
	const count = typeof length === "number" ? length : 0;
	const types = new Set();
	/** All tools without a name count as one. */
	const tools = new Set();
	let last;
	let recoveries = 0;
	// The length of a proxy may not be an integer.
	let index = 0;
	for (; index + 1 <= count; index++) {
		const step = list[index];
		check(isObject(step), step, "an object", "", index);
		const { type } = step;
		check(isString(type), type, "a string", ".type", index);
		add(types, type);
		last = type;
		if (type === "error_recovery") recoveries += 1;

		const { content } = step;
		const said = content ?? "";
		check(isString(said), content, "a string, null or nothing", ".content", index);
		if (said.length > LONG) {
			text += " ";
			flush();
			text = said;
		} else text += ` ${said}`;
		if (text.length > LONG) flush();

		const { tool } = step;
		if (tool === undefined || tool === null) continue;
		check(isObject(tool), tool, "an object, null or nothing", ".tool", index);
		const { name } = tool;
		check(name === undefined || isString(name), name, "a string", ".tool.name", index);
		add(tools, name);
	}

	const { id } = trace;
	// Longer ids are ignored.
	const known = isString(id) && id.length <= LONGEST_ID ? id : undefined;
	// Stores and snapshots have ids in UTF-8, in which these would be one.
	check(known?.isWellFormed() ?? true, id, "a string without lone surrogates", "id");
	if (pieces !== undefined) flush();
	const isThought = index === 1 && last === "thought";
	return {
		head: [
			domain,
			known,
			success,
			confidence,
			index,
			sizeOf(types),
			sizeOf(tools),
			recoveries,
			isThought,
		],
		text: pieces ?? text,
		objective: objective.length,
	};
}

module.exports = { piecesOf, readTrace };
