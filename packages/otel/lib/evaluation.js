/** Scores as events of the GenAI semantic conventions, `gen_ai.evaluation.result`. */
const { check } = require("@knowledgepulse/scoring/internal/options");
const api = require("@opentelemetry/api");
const { name, version } = require("../package.json");

const INFO = 9;

/** The Logs API is part of the API from 1.10 on, and a package of its own before; both may be there. */
function logsApis() {
	const apis = api.logs ? [api.logs] : [];
	try {
		apis.push(require("@opentelemetry/api-logs").logs);
	} catch (error) {
		if (error.code !== "MODULE_NOT_FOUND") throw error;
	}
	return apis;
}

/** Returns a function that emits the event of a report; without a Logs API it does nothing. */
function emitter(loggerProvider, labelOf) {
	const apis = loggerProvider ? [{ getLoggerProvider: () => loggerProvider }] : logsApis();
	// An application registers its provider with either API, at any time; the other has one that emits nothing.
	const providers = () => new Set(apis.map((logs) => logs.getLoggerProvider()));
	return (report, spanContext) => {
		const label = labelOf(report);
		check(typeof label === "string", "label()", "a string", label);
		const event = {
			eventName: "gen_ai.evaluation.result",
			severityNumber: INFO,
			attributes: {
				"gen_ai.evaluation.name": "knowledgepulse.value",
				"gen_ai.evaluation.score.value": report.score,
				"gen_ai.evaluation.score.label": label,
				"gen_ai.evaluation.explanation": explanationOf(report),
			},
			context: api.trace.setSpanContext(api.ROOT_CONTEXT, spanContext),
		};
		for (const provider of providers()) provider.getLogger(name, version).emit(event);
	};
}

function levelOf({ score }) {
	if (score > 0.6) return "high";
	return score < 0.4 ? "low" : "medium";
}

/** Such as `complexity 0.43 × 0.25, novelty 0.50 × 0.35 (empty-cache), …; error-recovery +0.10`. */
function explanationOf({ dimensions, weights, novelty, overrides }) {
	const parts = Object.entries(dimensions).map(([name, value]) => {
		const source = name === "novelty" ? ` (${novelty.source})` : "";
		return `${name} ${value.toFixed(2)} × ${weights[name].toFixed(2)}${source}`;
	});
	const changes = overrides.map(({ name, before, after }) => {
		const change = after - before;
		return `; ${name} ${change < 0 ? "" : "+"}${change.toFixed(2)}`;
	});
	return parts.join(", ") + changes.join("");
}

module.exports = { emitter, levelOf };
