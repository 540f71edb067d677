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

/** The reasons for the dimensions. */
function causesOf({ metadata, outcome, steps }, { confidenceFrom }, { maxSimilarity, source }) {
	const recoveries = steps.filter(({ type }) => type === "error_recovery").length;
	const types = count(uniqueCount(steps.map(({ type }) => type)), "type");
	const tools = uniqueCount(steps.flatMap(({ tool }) => tool?.name ?? []));
	const length = count(steps.length, "step");
	const recovered = recoveries > 0 ? `${count(recoveries, "recovery", "recoveries")}, ` : "";
	const confidence = `confidence ${outcome.confidence}${confidenceFrom === "default" ? " by default" : ""}`;
	return {
		complexity: `${types}, ${recovered}${length}`,
		novelty:
			maxSimilarity === null
				? (WITHOUT[source] ?? source)
				: `similarity ${maxSimilarity.toFixed(3)} to the nearest`,
		toolDiversity: `${count(tools, "tool")} in ${length}`,
		outcomeConfidence: metadata.success ? confidence : `0.3 × ${confidence}, because it failed`,
	};
}

/** The account of a score. `nearest` is the objective of the nearest trace. */
function accountOf({ trace, provenance, report, nearest = "" }, { width }) {
	const { id, metadata, steps, task } = trace;
	const { source, successFrom } = provenance;
	const { dimensions, weights, overrides, novelty, profile, text } = report;
	const facts = [
		metadata.task_domain === profile ? profile : `${metadata.task_domain} (weights: ${profile})`,
		`${metadata.success ? "succeeded" : "failed"}${successFrom === "assumed" ? " (assumed)" : ""}`,
		count(steps.length, "step"),
	];
	if (text) facts.push(`${count(text.tokens, "token")}${text.isCut ? ", the rest was cut" : ""}`);
	const lines = [
		`${style("bold", report.score.toFixed(3))}  ${style("bold", fit(typeof id === "string" ? id : "(no id)", width - 8))}`,
		fit(task.objective, width - 1),
		style("dim", fit(facts.join(" · "), width - 1)),
		style("dim", plain(`${source.name}${source.line ? `:${source.line}` : ""}`)),
		"",
	];
	const causes = causesOf(trace, provenance, novelty);
	for (const [name, value] of Object.entries(dimensions)) {
		const weight = weights[name];
		const product = `× ${weight.toFixed(2)} = ${(value * weight).toFixed(3)}`;
		const cause = fit(causes[name], Math.max(width - 74, 20));
		lines.push(
			`  ${DIMENSIONS[name].title.padEnd(14)}  ${value.toFixed(3)} ${bar(value)}  ${product}  up to +${((1 - value) * weight).toFixed(3)}  ${style("dim", cause)}`,
		);
	}
	if (overrides.length > 0)
		lines.push(`  ${"weighted sum".padEnd(49)} = ${overrides[0].before.toFixed(3)}`);
	for (const { name, before, after } of overrides) {
		const change = `${signed(after - before).padStart(7)} = ${after.toFixed(3)}`;
		lines.push(`  ${name.padEnd(41)} ${change}  ${style("dim", RULES[name] ?? "")}`);
	}
	if (novelty.maxSimilarity !== null) {
		const found = fit(`${novelty.nearest ?? "(no id)"}: ${nearest}`, width - 19);
		lines.push(style("dim", `  nearest         ${found}`));
	}
	return `${lines.join("\n")}\n\n`;
}

module.exports = { accountOf };
