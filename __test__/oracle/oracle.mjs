/**
 * An independent implementation of the whole scorer, over transformers.js, with which the engine is
 * compared. It shares no code with the engine.
 */

import { Scorer } from "./scorer.mjs";

export { embed } from "./embedder.mjs";

/** Scores any values, in call order. */
export class Oracle {
	#scorer;

	constructor({ profiles = {}, ...options } = {}) {
		const named = Object.entries(profiles).map(([domain, weights]) => [
			domain.toWellFormed(),
			weights,
		]);
		this.#scorer = new Scorer({ ...options, profiles: named });
	}

	/** Returns the score of a value; or its faults, without adding it to the cache. */
	async evaluate(value) {
		const faults = faultsOf(value);
		if (faults.length > 0) return { faults };
		const trace = wellFormed(value);
		return { score: await this.#scorer.evaluateValue(trace) };
	}

	/** The number of cached vectors. */
	get cacheSize() {
		return this.#scorer.cache.size;
	}
}

/** Returns what a score depends on, with U+FFFD for each lone surrogate where more than the equality of names counts. */
function wellFormed(trace) {
	const { metadata, task, outcome } = trace;
	const steps = Array.from(trace.steps, ({ type, content, tool }) => ({
		type,
		content: content?.toWellFormed(),
		tool: tool && { name: tool.name },
	}));
	const task_domain = metadata.task_domain.toWellFormed();
	return {
		metadata: { task_domain, success: metadata.success },
		task: { objective: task.objective.toWellFormed() },
		steps,
		outcome: { confidence: outcome.confidence },
	};
}

/** The limit on faults: an array can have billions of entries that are not steps. */
const MOST = 100;

/** Returns the paths of the fields that are not as in a trace. */
function faultsOf(value) {
	if (!isObject(value)) return ["trace"];
	// Messages and promises are told from a trace.
	const isOther = Array.isArray(value) || value instanceof Promise;
	const faults = isOther && !isObject(value.metadata) ? ["trace"] : [];
	for (const [name, fields] of Object.entries(PARTS)) {
		faults.push(...faultsIn(value[name], name, fields));
	}
	const { steps } = value;
	if (!Array.isArray(steps)) return [...faults, "steps"];
	for (let index = 0; index < steps.length && faults.length < MOST; index++) {
		faults.push(...faultsIn(steps[index], `steps[${index}]`, STEP));
		const tool = isObject(steps[index]) ? steps[index].tool : undefined;
		if (isObject(tool)) faults.push(...faultsIn(tool, `steps[${index}].tool`, TOOL));
	}
	return faults;
}

const isString = (value) => typeof value === "string";
const isUndefined = (value) => value === undefined;
const isNothing = (value) => value === undefined || value === null;

const PARTS = {
	metadata: { task_domain: isString, success: (value) => typeof value === "boolean" },
	task: { objective: isString },
	outcome: { confidence: (value) => typeof value === "number" && value >= 0 && value <= 1 },
};

const STEP = {
	type: isString,
	content: (value) => isNothing(value) || isString(value),
	tool: (value) => isNothing(value) || isObject(value),
};

const TOOL = { name: (value) => isUndefined(value) || isString(value) };

function faultsIn(value, path, fields) {
	if (!isObject(value)) return [path];
	return Object.entries(fields)
		.filter(([name, fits]) => !fits(value[name]))
		.map(([name]) => `${path}.${name}`);
}

function isObject(value) {
	return typeof value === "object" && value !== null;
}

/** The value of a promise, or the error that it rejected with. */
export const settled = (promise) => promise.catch((error) => error);

/**
 * Returns the difference of a score from that of the oracle, 0 for the same bits; Infinity unless both
 * are scores, or both reject the value at the same place.
 */
export function difference(found, { score, faults }) {
	if (faults) return isRejection(found, faults) ? 0 : Number.POSITIVE_INFINITY;
	if (Object.is(found, score)) return 0;
	const apart = Math.abs(found - score);
	// 0 and -0 are different; anything that is not a number gives NaN.
	return apart > 0 ? apart : Number.POSITIVE_INFINITY;
}

function isRejection(found, faults) {
	const { name, code, path, message } = found ?? {};
	return (
		found instanceof Error &&
		name === "InvalidTraceError" &&
		code === "INVALID_TRACE" &&
		faults.includes(path) &&
		message.startsWith(`${path}: expected `) &&
		/, got /.test(message)
	);
}

/** Ways to score values in order; each returns their scores or errors. */
export const WAYS = {
	evaluateValues: async (scorer, values) =>
		(await scorer.evaluateValues(values, { errors: "collect" })).map(
			(found) => found.error ?? found,
		),
	evaluateValue: (scorer, values) =>
		Promise.all(values.map((value) => settled(scorer.evaluateValue(value)))),
	explainValue: (scorer, values) => {
		const explain = async (value) => (await scorer.explainValue(value)).score;
		return Promise.all(values.map((value) => settled(explain(value))));
	},
};
