/** Explains a score as text. */
const { InputError } = require("./exit.js");
const { outcomeOf } = require("./facts.js");
const { DIMENSIONS, bar, count, fit, plain, signed, style } = require("./terminal.js");

const WITHOUT = {
	"empty-cache": "nothing to compare with",
	"no-embedder": "no embedder",
	"no-store": "the store cannot be used",
	"over-budget": "it took too long",
};

const RULES = {
	"single-thought": "a thought is all there is",
	"error-recovery": "more than 2 recoveries, and it succeeded",
	"low-tool-diversity": "a single tool",
};

/** What the rules make of a score. */
const CORRECTED = {
	"single-thought": () => 0.1,
	"error-recovery": (score) => Math.min(score + 0.1, 1),
	"low-tool-diversity": (score) => Math.max(score - 0.1, 0),
};

/** How exactly the parts of a score add up to it. */
const TOLERANCE = 1e-9;

/** The width of a dimension without its cause. */
const LINE = 74;

const uniqueCount = (values) => new Set(values).size;

function causesOf({ metadata, outcome, steps }, { confidenceFrom }, { maxSimilarity, source }) {
	const recoveries = steps.filter(({ type }) => type === "error_recovery").length;
	// Rows have none.
	const hasSteps = steps.length > 0;
	const types = count(uniqueCount(steps.map(({ type }) => type)), "type");
	const tools = uniqueCount(steps.flatMap(({ tool }) => tool?.name ?? []));
	const length = count(steps.length, "step");
	const recovered = recoveries > 0 ? `${count(recoveries, "recovery", "recoveries")}, ` : "";
	const confidence = `confidence ${outcome.confidence}${confidenceFrom === "default" ? " by default" : ""}`;
	return {
		complexity: hasSteps ? `${types}, ${recovered}${length}` : "",
		novelty:
			maxSimilarity === null
				? (WITHOUT[source] ?? source)
				: `similarity ${maxSimilarity.toFixed(3)} to the nearest`,
		toolDiversity: hasSteps ? `${count(tools, "tool")} in ${length}` : "",
		outcomeConfidence: metadata.success ? confidence : `0.3 × ${confidence}, because it failed`,
	};
}

/** The dimensions of an account as text: `{ title, value, product, most, cause }`. */
function partsOf({ trace, provenance, report: { dimensions, novelty, weights } }) {
	const causes = causesOf(trace, provenance, novelty);
	return Object.entries(dimensions).map(([name, value]) => ({
		title: DIMENSIONS[name].title,
		value,
		product: `× ${weights[name].toFixed(2)} = ${(value * weights[name]).toFixed(3)}`,
		most: `up to +${((1 - value) * weights[name]).toFixed(3)}`,
		cause: causes[name],
	}));
}

/** What a row says of its trace. */
const traceOf = ({ confidence, domain, id, objective, success }) => ({
	id,
	metadata: { task_domain: domain, success },
	task: { objective: objective ?? "" },
	steps: [],
	outcome: { confidence },
});

/** A row as `accountOf` takes it, with the weights of `profiles`, which must be those of its score. */
function explained(row, profiles) {
	const { scoreWith } = require("@knowledgepulse/scoring");
	const { dimensions, overrides, score, similarity, tokens, isCut } = row;
	const trace = traceOf(row);
	const { profile, weights } = scoreWith(trace, { maxSimilarity: similarity }, { profiles });
	const names = Object.keys(dimensions);
	let after = names.reduce((sum, name) => sum + dimensions[name] * weights[name], 0);
	const changed = overrides.map((name) => {
		const before = after;
		// Later versions may have other rules.
		after = CORRECTED[name]?.(before) ?? score;
		return { name, before, after };
	});
	if (Math.abs(after - score) > TOLERANCE)
		throw new InputError("it was scored with other weights; --profiles has them");
	const novelty = { maxSimilarity: similarity, nearest: row.nearest, source: row.noveltySource };
	const text = typeof tokens === "number" ? { tokens, isCut } : null;
	const report = { score, dimensions, weights, overrides: changed, novelty, profile, text };
	return { trace, provenance: row, report, length: row.steps };
}

/** The account of a score. `nearest` is the objective of the nearest trace, `length` the number of steps. */
function accountOf({ trace, provenance, report, nearest = "", length }, { width }) {
	const { id, metadata, steps, task } = trace;
	const { source, successFrom } = provenance;
	const { overrides, novelty, profile, text } = report;
	const facts = [
		metadata.task_domain === profile ? profile : `${metadata.task_domain} (weights: ${profile})`,
		outcomeOf({ success: metadata.success, successFrom }),
		count(length ?? steps.length, "step"),
	];
	if (text?.tokens)
		facts.push(`${count(text.tokens, "token")}${text.isCut ? ", the rest was cut" : ""}`);
	const lines = [
		`${style("bold", report.score.toFixed(3))}  ${style("bold", fit(typeof id === "string" ? id : "(no id)", width - 8))}`,
		fit(task.objective, width - 1),
		style("dim", fit(facts.join(" · "), width - 1)),
		style("dim", plain(`${source.name}${source.line ? `:${source.line}` : ""}`)),
		"",
	];
	const parts = partsOf({ trace, provenance, report });
	const longest = Math.max(...parts.map(({ cause }) => cause.length));
	const isNarrow = LINE + 2 + longest > width;
	for (const { title, value, product, most, cause } of parts) {
		const graph = width < LINE ? "" : ` ${bar(value)}`;
		lines.push(
			`  ${title.padEnd(14)}  ${value.toFixed(3)}${graph}  ${product}  ${most}${isNarrow ? "" : `  ${style("dim", cause)}`}`,
		);
		if (isNarrow && cause) lines.push(style("dim", `${" ".repeat(18)}${fit(cause, width - 19)}`));
	}
	const [first] = overrides;
	if (first) lines.push(`  ${"weighted sum".padEnd(49)} = ${first.before.toFixed(3)}`);
	for (const { name, before, after } of overrides) {
		const change = `${signed(after - before).padStart(7)} = ${after.toFixed(3)}`;
		lines.push(`  ${name.padEnd(41)} ${change}  ${style("dim", RULES[name] ?? "")}`);
	}
	if (novelty.maxSimilarity !== null) {
		const found = fit(
			[novelty.nearest ?? "(no id)", nearest].filter(Boolean).join(": "),
			width - 19,
		);
		lines.push(style("dim", `  nearest         ${found}`));
	}
	return `${lines.join("\n")}\n\n`;
}

module.exports = { RULES, accountOf, explained, partsOf, traceOf };
