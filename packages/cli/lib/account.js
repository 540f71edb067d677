/** Explains a score as text. */
const { DIMENSIONS, bar, count, fit, plain, signed, style } = require("./terminal.js");

const WITHOUT = {
	"empty-cache": "nothing to compare with",
	"no-embedder": "no embedder",
	"no-store": "the store cannot be used",
	"over-budget": "it took too long",
};

/** The reasons for the rules. */
const RULES = {
	"single-thought": "a thought is all there is",
	"error-recovery": "more than 2 recoveries, and it succeeded",
	"low-tool-diversity": "a single tool",
};

const uniqueCount = (values) => new Set(values).size;

/** The reasons for the dimensions that depend only on the trace. */
function causesOf({ metadata, outcome, steps }, { confidenceFrom }) {
	const recoveries = steps.filter(({ type }) => type === "error_recovery").length;
	const tools = uniqueCount(steps.flatMap(({ tool }) => tool?.name ?? []));
	const length = count(steps.length, "step");
	const confidence = `confidence ${outcome.confidence}${confidenceFrom === "default" ? " by default" : ""}`;
	return {
		complexity: [
			count(uniqueCount(steps.map(({ type }) => type)), "type"),
			recoveries > 0 && count(recoveries, "recovery", "recoveries"),
			length,
		]
			.filter(Boolean)
			.join(", "),
		toolDiversity: `${count(tools, "tool")} in ${length}`,
		outcomeConfidence: metadata.success ? confidence : `0.3 × ${confidence}, because it failed`,
	};
}

/** The lines of an account. `nearest` is the objective of the nearest trace. */
function accountOf({ trace, provenance, report, nearest }, { width }) {
	const { source, successFrom } = provenance;
	const { dimensions, weights, overrides, novelty, text } = report;
	const isCompared = novelty.maxSimilarity !== null;
	const id = fit(trace.id ?? "(no id)", width - 8);
	const facts = [
		report.profile === trace.metadata.task_domain
			? report.profile
			: `${trace.metadata.task_domain} (weights: ${report.profile})`,
		`${trace.metadata.success ? "succeeded" : "failed"}${successFrom === "assumed" ? " (assumed)" : ""}`,
		count(trace.steps.length, "step"),
		text && `${count(text.tokens, "token")}${text.isCut ? ", the rest was cut" : ""}`,
	];
	const notes = {
		...causesOf(trace, provenance),
		novelty: isCompared
			? `similarity ${novelty.maxSimilarity.toFixed(3)} to the nearest`
			: (WITHOUT[novelty.source] ?? novelty.source),
	};
	const lines = Object.entries(dimensions).map(([name, value]) => {
		const weight = weights[name];
		const numbers = `${value.toFixed(3)} ${bar(value)}  × ${weight.toFixed(2)} = ${(value * weight).toFixed(3)}  up to +${((1 - value) * weight).toFixed(3)}`;
		const note = fit(notes[name] ?? "", Math.max(width - 74, 20));
		const line = `  ${DIMENSIONS[name].padEnd(14)}  ${numbers}`;
		return note === "" ? line : `${line}  ${style("dim", note)}`;
	});
	const weighted = Object.entries(dimensions).reduce(
		(sum, [name, value]) => sum + value * weights[name],
		0,
	);
	const steps = overrides.map(
		({ name, before, after }) =>
			`  ${name.padEnd(41)} ${signed(after - before).padStart(7)} = ${after.toFixed(3)}  ${style("dim", RULES[name] ?? "")}`,
	);
	const nearestText = `${novelty.nearest ?? "(no id)"}: ${nearest ?? ""}`;
	const sum = steps.length > 0 ? [`  ${"weighted sum".padEnd(49)} = ${weighted.toFixed(3)}`] : [];
	return [
		`${style("bold", report.score.toFixed(3))}  ${style("bold", id)}`,
		fit(trace.task.objective, width - 1),
		style("dim", fit(facts.filter(Boolean).join(" · "), width - 1)),
		style("dim", plain(`${source.name}${source.line ? `:${source.line}` : ""}`)),
		"",
		...lines,
		...sum,
		...steps,
		...(isCompared ? [style("dim", `  nearest         ${fit(nearestText, width - 19)}`)] : []),
		"",
		"",
	].join("\n");
}

module.exports = { accountOf };
