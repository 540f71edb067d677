/** What is kept of spans: only what the importer reads. */

/**
 * The families of attributes that the importer reads: of OpenTelemetry without what all spans of an agent repeat, the AI
 * SDK, OpenInference, OpenLLMetry, Google ADK, Logfire and others. Which of their members it reads, only the importer knows.
 */
const READ =
	/^(?:gen_ai\.(?!tool\.definitions|system_instructions)|ai\.(?:operationId|prompt(?:\.messages)?|response\..*|toolCall\..*)$|openinference\.|traceloop\.|gcp\.vertex\.agent\.|llm\.(?:in|out)put_messages\.|tool(?:\.(?:name|parameters)|_call\.id|_arguments|_response)$|(?:in|out)put(?:\.value)?$|(?:events|error\.type)$)/;

/** Written as a loop, since every span of the application goes through it. */
function readable(attributes) {
	const kept = {};
	for (const name in attributes) if (READ.test(name)) kept[name] = attributes[name];
	return kept;
}

/** Whether a text is JSON without its end: it has fewer closing than opening brackets, or half a string. */
function isHalfJson(text) {
	if (!/^\s*(?:\{\s*"|\[\s*[[{"])/.test(text)) return false;
	const brackets = text.replace(/\\./gs, "").replace(/"[^"]*"/g, "");
	return brackets.includes('"') || brackets.split(/[[{]/).length > brackets.split(/[\]}]/).length;
}

/** Whether span limits have dropped attributes, or may have cut one to `limit` characters, which may be unknown. */
function isCut({ droppedAttributesCount, attributes = {} }, limit) {
	const texts = Object.values(attributes).flat();
	const isWhole = (text) =>
		limit === undefined ? !isHalfJson(text) : text === "" || text.length !== limit;
	return (
		droppedAttributesCount > 0 || !texts.every((text) => typeof text !== "string" || isWhole(text))
	);
}

/** Returns what is kept of an ended span: its place, and `line`, which the importer reads, as JSON. */
function keptSpan(span) {
	const { traceId, spanId } = span.spanContext();
	// A string in version 1 of the SDK.
	const parentSpanId = span.parentSpanContext?.spanId ?? span.parentSpanId;
	const attributes = readable(span.attributes);
	const recorded = span.events.filter(({ name }) => name.startsWith("gen_ai."));
	const events = recorded.map(({ name, attributes }) => ({ name, attributes }));
	// Whether it may belong to an agent. Any operation may have an `error.type`.
	const isGenAi =
		events.length > 0 || Object.keys(attributes).some((name) => name !== "error.type");
	// All SDKs from 1.25 to 3.1 have this field; there is no public one.
	const limit = span._spanLimits?.attributeValueLengthLimit;
	const places = [{ droppedAttributesCount: span.droppedAttributesCount, attributes }, ...recorded];
	const { name, startTime, status } = span;
	const flat = { name, traceId, spanId, parentSpanId, startTime, status, attributes, events };
	return {
		traceId,
		spanId,
		parentSpanId,
		isAgent:
			attributes["gen_ai.operation.name"] === "invoke_agent" ||
			attributes["openinference.span.kind"] === "AGENT",
		isGenAi,
		isCut: (isGenAi && span.droppedEventsCount > 0) || places.some((place) => isCut(place, limit)),
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
