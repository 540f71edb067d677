import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

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
	const folder = mkdtempSync(join(tmpdir(), "kp-types-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	symlinkSync(modules, join(folder, "node_modules"), "junction");
	const text = readFileSync(declarations, "utf8");
	const examples = [...text.matchAll(EXAMPLES)].map(([, example]) =>
		example.replaceAll(/^ \* /gm, ""),
	);
	assert.ok(examples.length > 0);
	for (const [index, example] of [USES, ...examples].entries())
		writeFileSync(join(folder, `${index}.mts`), `${example}\nexport {};\n`);
	const compilerOptions = {
		module: "nodenext",
		target: "es2022",
		strict: true,
		noEmit: true,
		exactOptionalPropertyTypes: true,
		types: ["node"],
		skipLibCheck: true,
	};
	const config = { compilerOptions, include: ["*.mts"] };
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	const typescript = join(modules, "typescript");
	const { bin } = JSON.parse(readFileSync(join(typescript, "package.json")));
	const { status, stdout } = spawnSync(
		process.execPath,
		[join(typescript, bin.tsc), "-p", folder],
		{ encoding: "utf8" },
	);
	assert.equal(status, 0, stdout);
});
