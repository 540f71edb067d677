import assert from "node:assert/strict";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../../__test__/support/model-folder.mjs";
import { compile } from "../../../__test__/support/typescript.mjs";

const modules = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const declarations = new URL("../index.d.ts", import.meta.url);

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
// @ts-expect-error: an unknown option
new ScoringSpanProcessor({ onscore() {} });
// @ts-expect-error: the processor has a way of its own to end
new ScoringSpanProcessor({ signal: AbortSignal.timeout(1) });
`;

/** The examples of the declarations. */
const EXAMPLES = /@example\n \* ```ts\n([\s\S]*?) \* ```/g;

test("index.d.ts fits the SDK, and its examples compile in strict mode", (t) => {
	const folder = temporaryFolder(t);
	symlinkSync(modules, join(folder, "node_modules"), "junction");
	const text = readFileSync(declarations, "utf8");
	const examples = [...text.matchAll(EXAMPLES)].map(([, example]) =>
		example.replaceAll(/^ \* /gm, ""),
	);
	assert.ok(examples.length > 0);
	for (const [index, example] of [USES, ...examples].entries())
		writeFileSync(join(folder, `${index}.mts`), `${example}\nexport {};\n`);
	const options = { exactOptionalPropertyTypes: true, types: ["node"], skipLibCheck: true };
	assert.equal(compile(folder, { ...options, noEmit: true }), "");
});
