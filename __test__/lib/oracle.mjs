/**
 * The scorer without its embedder, written from the description of the formula and not from the
 * code under test, and the rules that make a trace a valid one.
 */

const WEIGHTS = new Map([
	["finance", { C: 0.2, N: 0.25, D: 0.1, O: 0.45 }],
	["code", { C: 0.2, N: 0.3, D: 0.3, O: 0.2 }],
	["medical", { C: 0.15, N: 0.2, D: 0.1, O: 0.55 }],
	["customer_service", { C: 0.2, N: 0.3, D: 0.2, O: 0.3 }],
]);
const DEFAULT_WEIGHTS = { C: 0.25, N: 0.35, D: 0.15, O: 0.25 };

/** A string as it is compared: lone surrogates are U+FFFD. */
const wellFormed = (text) => text?.toWellFormed();

/** The score of a valid trace when novelty is 0.5. */
export function scoreWithoutEmbedder({ metadata, steps, outcome }) {
	const w = WEIGHTS.get(metadata.task_domain) ?? DEFAULT_WEIGHTS;
	const types = new Set(steps.map((step) => wellFormed(step.type)));
	const tools = steps.map((step) => step.tool).filter((tool) => tool);
	const names = new Set(tools.map((tool) => wellFormed(tool.name)));
	const recoveries = steps.filter(
		(step) => step.type === "error_recovery",
	).length;

	const C = Math.min(
		1,
		(types.size / 4) * 0.5 +
			(recoveries > 0 ? 0.3 : 0) +
			(steps.length / 20) * 0.2,
	);
	const N = 0.5;
	const D = Math.min(1, (names.size / Math.max(1, steps.length)) * 3);
	const O = outcome.confidence * (metadata.success ? 1 : 0.3);
	let score = C * w.C + N * w.N + D * w.D + O * w.O;

	if (steps.length === 1 && steps[0].type === "thought") score = 0.1;
	if (recoveries > 2 && metadata.success) score = Math.min(1, score + 0.1);
	if (tools.length > 0 && names.size <= 1) score = Math.max(0, score - 0.1);
	return score;
}

const isObject = (value) => typeof value === "object" && value !== null;
const isAbsent = (value) => value === undefined || value === null;
const isConfidence = (value) =>
	typeof value === "number" && value >= 0 && value <= 1;

/** The paths of what is wrong with a would-be trace; none when it is valid. */
export function faults(trace) {
	if (!isObject(trace)) return ["trace"];
	const { metadata, task, outcome, steps } = trace;
	const found = [];
	const check = (fits, path) => {
		if (!fits) found.push(path);
		return fits;
	};
	if (check(isObject(metadata), "metadata")) {
		check(typeof metadata.task_domain === "string", "metadata.task_domain");
		check(typeof metadata.success === "boolean", "metadata.success");
	}
	if (check(isObject(task), "task")) {
		check(typeof task.objective === "string", "task.objective");
	}
	if (check(isObject(outcome), "outcome")) {
		check(isConfidence(outcome.confidence), "outcome.confidence");
	}
	if (check(Array.isArray(steps), "steps")) {
		// A huge array of nothing has more faults than need be listed.
		for (let i = 0; i < steps.length && found.length < 100; i++) {
			const step = steps[i];
			if (!check(isObject(step), `steps[${i}]`)) continue;
			const { type, content, tool } = step;
			check(typeof type === "string", `steps[${i}].type`);
			check(
				isAbsent(content) || typeof content === "string",
				`steps[${i}].content`,
			);
			if (check(isAbsent(tool) || isObject(tool), `steps[${i}].tool`) && tool) {
				const { name } = tool;
				check(
					name === undefined || typeof name === "string",
					`steps[${i}].tool.name`,
				);
			}
		}
	}
	return found;
}
