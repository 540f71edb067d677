/** Scores as OpenTelemetry log records, in the format of the Collector's file exporter: OTLP as JSON lines. */
const { version } = require("../package.json");

/** The label: by threshold, else as in `@knowledgepulse/scoring-otel`. */
function labelOf(score, threshold) {
	if (threshold !== undefined) return score >= threshold ? "pass" : "fail";
	if (score > 0.6) return "high";
	return score < 0.4 ? "low" : "medium";
}

/** Such as `complexity 0.43, novelty 0.50 (empty-cache), …; error-recovery`. */
function explanationOf({ dimensions, noveltySource, overrides }) {
	const parts = Object.entries(dimensions).map(([name, value]) => {
		const source = name === "novelty" ? ` (${noveltySource})` : "";
		return `${name} ${value.toFixed(2)}${source}`;
	});
	return [parts.join(", "), ...overrides].join("; ");
}

const text = (key, stringValue) => ({ key, value: { stringValue } });

/** The line for a row. */
function recordOf(row, threshold) {
	const attributes = [
		text("gen_ai.evaluation.name", "knowledgepulse.value"),
		{ key: "gen_ai.evaluation.score.value", value: { doubleValue: row.score } },
		text("gen_ai.evaluation.score.label", labelOf(row.score, threshold)),
		text("gen_ai.evaluation.explanation", explanationOf(row)),
	];
	if (row.id !== null) attributes.push(text("knowledgepulse.trace.id", row.id));
	const record = {
		timeUnixNano: `${Date.now()}000000`,
		severityNumber: 9, // INFO
		eventName: "gen_ai.evaluation.result",
		attributes,
	};
	const scope = { name: "@knowledgepulse/scoring-cli", version };
	const resource = { attributes: [text("service.name", "kp-score")] };
	const scopeLogs = [{ scope, logRecords: [record] }];
	return `${JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] })}\n`;
}

module.exports = { recordOf };
