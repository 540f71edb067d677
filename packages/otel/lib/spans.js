/** What is kept of spans: only what the importer reads. */

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

/** Returns what is kept of an ended span: its place, and `line`, which the importer reads, as JSON. */
function keptSpan(span) {
	const { traceId, spanId } = span.spanContext();
	// A string in version 1 of the SDK.
	const parentSpanId = span.parentSpanContext?.spanId ?? span.parentSpanId;
	const attributes = readable(span.attributes);
	const events = span.events
		.filter(({ name }) => name.startsWith("gen_ai."))
		.map(({ name, attributes }) => ({ name, attributes }));
	const { name, startTime, status } = span;
	const flat = { name, traceId, spanId, parentSpanId, startTime, status, attributes, events };
	return {
		traceId,
		spanId,
		parentSpanId,
		isAgent:
			attributes["gen_ai.operation.name"] === "invoke_agent" ||
			attributes["openinference.span.kind"] === "AGENT",
		// Whether it may belong to an agent. Any operation may have an `error.type`.
		isGenAi: events.length > 0 || Object.keys(attributes).some((name) => name !== "error.type"),
		line: `${JSON.stringify(flat)}\n`,
	};
}

/**
 * Returns the id of the evaluated span of a trace: the agent in its key, or else the topmost span of
 * generative AI if there is only one; else `undefined`. Spans are in the order in which they began, so that
 * parents come first.
 */
function subjectOf(spans, key) {
	const agent = key?.split(":")[1];
	if (agent) return agent;
	/** Ids of the spans of generative AI and of all below them. */
	const within = new Set();
	const tops = spans.filter(({ spanId, parentSpanId, isAgent, isGenAi }) => {
		const isBelow = within.has(parentSpanId);
		if (isBelow || isGenAi) within.add(spanId);
		return isGenAi && !isBelow && !isAgent;
	});
	return tops.length === 1 ? tops[0].spanId : undefined;
}

module.exports = { keptSpan, subjectOf };
