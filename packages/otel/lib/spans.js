/** Spans with only what the importer reads. */

/** The attributes that the importer reads, by the conventions that they belong to. */
const READ = new Set(
	[
		// OpenTelemetry
		"gen_ai.operation.name gen_ai.agent.name gen_ai.tool.name gen_ai.tool.call.id events error.type",
		"gen_ai.tool.call.arguments gen_ai.tool.call.result gen_ai.input.messages",
		"gen_ai.output.messages gen_ai.prompt gen_ai.completion",
		// AI SDK
		"ai.operationId ai.prompt ai.prompt.messages ai.response.text ai.response.reasoning",
		"ai.response.object ai.response.toolCalls ai.toolCall.name ai.toolCall.id ai.toolCall.args",
		"ai.toolCall.input ai.toolCall.result ai.toolCall.output",
		// OpenInference
		"openinference.span.kind tool.name tool.parameters tool_call.id input.value output.value",
		// OpenLLMetry
		"traceloop.span.kind traceloop.entity.name traceloop.entity.input traceloop.entity.output",
		// Google ADK, Logfire and others
		"gcp.vertex.agent.llm_request gcp.vertex.agent.llm_response gcp.vertex.agent.tool_call_args",
		"gcp.vertex.agent.tool_response tool_arguments tool_response input output",
	].flatMap((names) => names.split(" ")),
);

/** Messages with one attribute for each of their fields, such as `gen_ai.prompt.0.role`. */
const FLATTENED = /^(?:gen_ai\.(?:prompt|completion)|llm\.(?:in|out)put_messages)\./;

/** Written as a loop, since every span of the application goes through it. */
function readable(attributes) {
	const kept = {};
	for (const name in attributes)
		if (READ.has(name) || FLATTENED.test(name)) kept[name] = attributes[name];
	return kept;
}

/** Returns an ended span as a flat span. */
function flatSpan(span) {
	const { traceId, spanId } = span.spanContext();
	return {
		name: span.name,
		traceId,
		spanId,
		parentSpanId: span.parentSpanContext?.spanId,
		startTime: span.startTime,
		status: span.status,
		attributes: readable(span.attributes),
		events: span.events
			.filter(({ name }) => name.startsWith("gen_ai."))
			.map(({ name, attributes }) => ({ name, attributes })),
	};
}

const isAgent = ({ attributes }) =>
	attributes["gen_ai.operation.name"] === "invoke_agent" ||
	attributes["openinference.span.kind"] === "AGENT";

/** Whether a span may belong to an agent. Any operation may have an `error.type`. */
const isGenAi = ({ attributes, events }) =>
	events.length > 0 || Object.keys(attributes).some((name) => name !== "error.type");

/**
 * Returns the id of the evaluated span of a trace: the agent in its key, or else the topmost span of
 * generative AI if there is only one; else `undefined`.
 */
function subjectOf(spans, key) {
	const agent = key?.split(":")[1];
	if (agent) return agent;
	const byId = new Map(spans.map((span) => [span.spanId, span]));
	function isTop(span) {
		for (let above = byId.get(span.parentSpanId); above; ) {
			if (isGenAi(above)) return false;
			above = byId.get(above.parentSpanId);
		}
		return true;
	}
	const tops = spans.filter((span) => isGenAi(span) && !isAgent(span) && isTop(span));
	return tops.length === 1 ? tops[0].spanId : undefined;
}

module.exports = { flatSpan, isGenAi, subjectOf };
