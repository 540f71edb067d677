/** Selections of traces, which types/scorer.d.ts documents. */
const { inOrder } = require("./batch.js");
const { attempt } = require("./native.js");
const {
	check,
	invalidOption,
	isObject,
	isString,
	kind,
	kinds,
	readOptions,
} = require("./options.js");
const { readTrace } = require("./trace.js");

const { action, flag, positive, share, signal, traces } = kinds;

const OPTIONS = {
	against: traces,
	againstCache: flag,
	count: positive,
	coverage: kind("a number in (0, 1]", (value) => share.fits(value) && value > 0),
	group: kind(
		'a JSON pointer, such as "/metadata/session_id", or a function',
		(value) => typeof value === "function" || (isString(value) && /^(\/|$)/.test(value)),
	),
	onProgress: action,
	perGroup: positive,
	signal,
};

// The sum of very many does not overflow.
const sum = kind("a positive number of at most 2^53", (value) => value > 0 && value <= 2 ** 53);

/** The string, number or boolean at a JSON pointer as text; null for anything else. */
exports.textAt = function textAt(value, pointer) {
	let found = value;
	for (const part of pointer.split("/").slice(1)) {
		const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
		found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
	}
	return isObject(found) || found === undefined || found === null ? null : String(found);
};

/** Returns a function that numbers the groups of traces; undefined for no group. */
function grouping(group) {
	const numbers = new Map();
	return (trace, index) => {
		if (group === undefined) return undefined;
		const name = isString(group) ? exports.textAt(trace, group) : (group(trace, index) ?? null);
		if (name === null) return undefined;
		check(isString(name), "group", "a function that returns a string or null", name);
		if (!numbers.has(name)) numbers.set(name, numbers.size);
		return numbers.get(name);
	};
}

/** `call` makes a call of a scorer, and `closed` is aborted when that is closed. */
exports.select = async function select(native, call, closed, list, options = {}) {
	const given = readOptions(options, OPTIONS);
	const { against = [], againstCache = false, count, coverage, group, perGroup } = given;
	const { onProgress, signal } = given;
	if (perGroup !== undefined && group === undefined)
		throw invalidOption("perGroup", "the option group for it", "none");
	check(traces.fits(list), "traces", traces.expected, list);
	closed.throwIfAborted();
	const selection = attempt(() => native.selection(count, coverage, perGroup, againstCache));
	const numberOf = grouping(group);
	const isKnown = Array.isArray(against) && Array.isArray(list);
	const total = isKnown ? against.length + list.length : undefined;
	let done = 0;

	async function embedAll(traces, isBefore) {
		let index = 0;
		const embed = (trace, { signal }) => {
			const submit = (handle) => {
				const { head, text, objective } = readTrace(trace);
				const { covers, success, success_from, stands_for } = trace.metadata;
				const isCount = positive.fits(stands_for ?? 1);
				check(isCount, "metadata.stands_for", positive.expected, stands_for, "INVALID_TRACE");
				const isSum = sum.fits(covers ?? 1);
				check(isSum, "metadata.covers", sum.expected, covers, "INVALID_TRACE");
				const isFailed = !success && success_from !== "assumed";
				const group = isBefore ? undefined : numberOf(trace, index++);
				const facts = [isBefore, isFailed, stands_for, covers, group];
				return selection.embed(head, text, objective, ...facts, handle);
			};
			return call(submit, signal);
		};
		for await (const _ of inOrder(embed, traces, { signal }, closed)) {
			done += 1;
			onProgress?.({ stage: "embed", done, total });
		}
	}

	try {
		// What was kept before is read last, because it may depend on what the list has.
		await embedAll(list, false);
		await embedAll(against, true);
		for (;;) {
			const json = await call((handle) => selection.advance(handle), signal);
			const { progress, selected } = JSON.parse(json);
			onProgress?.(progress);
			if (selected) return selected;
		}
	} finally {
		selection.end();
	}
};
