import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ScoringSpanProcessor } from "@knowledgepulse/scoring-otel";
import { compileModules, examplesIn } from "../../../__test__/support/typescript.mjs";

const declarations = new URL("../index.d.ts", import.meta.url);

/** All options. */
const NAMES =
	`scorer onScore onError label loggerProvider maxTraces maxSpans maxBytes waitMs success objective
	assumeSuccess confidence domain createdAt visibility privacyLevel`.split(/\s+/);

const USES = `
import { Scorer } from "@knowledgepulse/scoring";
import { ScoringSpanProcessor, type ScoringSpanProcessorOptions } from "@knowledgepulse/scoring-otel";
import { logs } from "@opentelemetry/api-logs";
import { LoggerProvider } from "@opentelemetry/sdk-logs";
import { NodeTracerProvider, type SpanProcessor } from "@opentelemetry/sdk-trace-node";
const options: ScoringSpanProcessorOptions = { scorer: new Scorer(),
	assumeSuccess: "skip",
	onScore: async ({ trace, provenance, report, spanContext }) => {
		const parts: [string | undefined, string | null, number, string] =
			[trace.id, provenance.key, report.score, spanContext.spanId];
		return parts;
	},
	onError: ({ error, spanContext: { traceId } }) => console.error(traceId, error),
	label: ({ score }) => (score > 0.5 ? "pass" : "fail"),
	loggerProvider: new LoggerProvider(),
};
const processor: SpanProcessor = new ScoringSpanProcessor(options);
new NodeTracerProvider({ spanProcessors: [processor] }).register();
new ScoringSpanProcessor({ loggerProvider: logs.getLoggerProvider() });
new ScoringSpanProcessor();
const nothing: { [name in keyof Required<ScoringSpanProcessorOptions>]: undefined } = {
	${NAMES.map((name) => `${name}: undefined`)}
};
new ScoringSpanProcessor(nothing);
// @ts-expect-error: an unknown option
new ScoringSpanProcessor({ onscore() {} });
// @ts-expect-error: the processor has a way of its own to end
new ScoringSpanProcessor({ signal: AbortSignal.timeout(1) });
`;

test("index.d.ts fits the SDK, and its examples compile in strict mode", (t) => {
	const examples = examplesIn(readFileSync(declarations, "utf8"));
	assert.ok(examples.length > 0);
	const options = { exactOptionalPropertyTypes: true, types: ["node"], skipLibCheck: true };
	assert.equal(compileModules(t, [USES, ...examples], options), "");
});

test("ScoringSpanProcessor takes the options that index.d.ts has", () => {
	new ScoringSpanProcessor(Object.fromEntries(NAMES.map((name) => [name, undefined])));
});
