// Compiled, never run: a line below `@ts-expect-error` must not compile, every other one must. What the blocks of the
// documentation use is compiled by ../docs/blocks.test.mjs; here is what a user may not write, and how results narrow.
// An ES module gets its types by the "import" condition of the package; types.commonjs.test-d.cts by "require".

import {
	configure,
	type Decision,
	decide,
	evaluateValue,
	evaluateValues,
	explainValue,
	explainValues,
	InvalidTraceError,
	type ReasoningTrace,
	type ReasoningTraceStep,
	type ScoreFailure,
	type ScoreReport,
	Scorer,
	ScoringError,
	type ScoringErrorCode,
	type ScoringWeights,
	scoreWith,
	status,
	VectorCache,
	warmup,
} from "@knowledgepulse/scoring";
import { calibrate } from "@knowledgepulse/scoring/calibrate";
import {
	type ChatMessage,
	evaluateLogs,
	fromMessages,
	ImportError,
	type ImportedItem,
	type ImportedTrace,
	type ImportFailure,
	type ImportReport,
	type ImportSource,
	importTraces,
	type LogEvaluation,
	type MessagesItem,
	type ScoreRow,
	type TraceImport,
	toMessages,
} from "@knowledgepulse/scoring/logs";

// @ts-expect-error there is no default export
export { default } from "@knowledgepulse/scoring";

/** Exactly the same type, in both directions. */
type Same<A, B> =
	(<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function expectType<T>(): <U>(
	value: U,
	...same: Same<T, U> extends true ? [] : [never]
) => void;

// Types as the SDK's users have them.

interface SdkMetadata {
	created_at: string;
	agent_id?: string;
	framework?: string;
	task_domain: string;
	success: boolean;
	quality_score: number;
	validated_by?: string[];
	visibility: "private" | "org" | "network";
	privacy_level: "aggregated" | "federated" | "private";
}
interface SdkStep {
	step_id: number;
	type: "thought" | "tool_call" | "observation" | "error_recovery";
	content?: string;
	tool?: { name: string; mcp_server?: string };
	input?: Record<string, unknown>;
	output_summary?: string;
	latency_ms?: number;
}
interface SdkTrace {
	"@context": "https://openknowledgepulse.org/schema/v1";
	"@type": "ReasoningTrace";
	id: string;
	metadata: SdkMetadata;
	task: {
		objective: string;
		input_schema?: Record<string, unknown>;
	};
	steps: SdkStep[];
	outcome: {
		result_summary: string;
		confidence: number;
	};
}
type KnowledgeUnit = SdkTrace | { "@type": "ToolCallPattern" } | { "@type": "ExpertSOP" };

declare const sdkTrace: SdkTrace;
expectType<Promise<number>>()(evaluateValue(sdkTrace));
expectType<Promise<ScoreReport>>()(explainValue(sdkTrace));
sdkTrace satisfies ReasoningTrace;
sdkTrace.steps[0] as SdkStep satisfies ReasoningTraceStep;
declare const readonlyTrace: Readonly<Omit<SdkTrace, "steps">> & {
	readonly steps: readonly Readonly<SdkStep>[];
};
evaluateValue(readonlyTrace);

// Optional members accept undefined, with exactOptionalPropertyTypes too.
const named: string | undefined = undefined;
({ type: "thought", content: named, tool: undefined }) satisfies ReasoningTraceStep;
({ type: "tool_call", tool: { name: named } }) satisfies ReasoningTraceStep;
new ScoringError("", { code: "CLOSED", path: named });
// @ts-expect-error without the code that every error has
new ScoringError("");
// @ts-expect-error without the field that every error about a trace has
new InvalidTraceError("", { code: "INVALID_TRACE" });
new InvalidTraceError("", { code: "INVALID_TRACE", path: "steps" }) satisfies ScoringError;

/** The members of a union that editors can offer: not those that any string fits. */
type Offered<T> = T extends string ? (string extends T ? never : T) : never;
type Domain = ReasoningTrace["metadata"]["task_domain"];
expectType<"code" | "customer_service" | "finance" | "medical">()({} as Offered<Domain>);

// What is a trace, and what is none.

const least = {
	metadata: { task_domain: "code", success: true },
	task: { objective: "" },
	steps: [],
	outcome: { confidence: 0 },
} as const;
evaluateValue(least);
evaluateValue({
	...least,
	"@context": "https://knowledgepulse.dev/schema/v1",
	steps: [
		{ step_id: 1, type: "something of my own", content: null, tool: null, input: 5 },
		{ type: "tool_call", content: "x", tool: {} },
	],
});
const none = [
	"trace",
	null,
	undefined,
	{},
	{ ...least, task: {} },
	{ ...least, task: { objective: 5 } },
	{ ...least, metadata: { success: true } },
	{ ...least, metadata: { task_domain: "code", success: "yes" } },
	{ ...least, outcome: { confidence: "high" } },
	{ ...least, outcome: {} },
	{ ...least, steps: {} },
	{ ...least, steps: [{ content: "x" }] },
	{ ...least, steps: [{ type: 5 }] },
	{ ...least, steps: [{ type: "thought", content: 5 }] },
	{ ...least, steps: [{ type: "thought", tool: "hammer" }] },
	{ ...least, steps: [{ type: "thought", tool: { name: 5 } }] },
] as const;
type Traces<L> = { [K in keyof L]: L[K] extends ReasoningTrace ? K : never }[number & keyof L];
expectType<never>()(undefined as never as Traces<typeof none>);
expectType<"0">()(undefined as never as Traces<readonly [typeof least, 5]>);
// @ts-expect-error no trace
evaluateValue();

// Reports, decisions and errors.

declare const report: ScoreReport;
expectType<
	"cache" | "empty-cache" | "store" | "given" | "no-embedder" | "no-store" | "over-budget"
>()(report.novelty.source);
expectType<number | null>()(report.novelty.maxSimilarity);
expectType<number | undefined>()(report.text?.tokens);
// @ts-expect-error a weight is missing
({ complexity: 1, novelty: 0, toolDiversity: 0 }) satisfies ScoringWeights;
// @ts-expect-error no similarity
scoreWith(least, {});
declare const decision: Decision;
expectType<number | null>()(decision.score);
// @ts-expect-error remember is not a boolean here
decide(least, { remember: true });
// @ts-expect-error no text is decided on
decide("text");
declare const caught: unknown;
if (caught instanceof InvalidTraceError) {
	expectType<"INVALID_TRACE">()(caught.code);
	expectType<string>()(caught.path);
} else if (caught instanceof ScoringError) {
	expectType<ScoringErrorCode>()(caught.code);
	expectType<string | undefined>()(caught.path);
}
expectType<Promise<(number | ScoreFailure)[]>>()(evaluateValues([least], { errors: "collect" }));
async () => {
	for await (const { score, error } of explainValues([least], { errors: "collect" }))
		if (!error) expectType<number>()(score);
};
// @ts-expect-error no such way with errors
evaluateValues([least], { errors: "ignore" });

// The cache.

const cache = new VectorCache();
cache.add(new Float64Array(3));
cache.add([1, 2, 3] as const);
cache.add({ length: 1, 0: 1 });
// @ts-expect-error the size is not to be set
cache.size = 0;
// @ts-expect-error no numbers
cache.add(["1"]);
// @ts-expect-error bigints
cache.add(new BigInt64Array(3));
// @ts-expect-error unknown option
new VectorCache({ capacity: 5 });
// @ts-expect-error without new
VectorCache();

// Settings. What status() returns can be set.

configure({ precision: status().embedder.precision, backend: status().embedder.backend });
// @ts-expect-error no such mode
configure({ embedder: "on" });
// @ts-expect-error unknown option
configure({ modle: "model" });
// @ts-expect-error no such option
warmup({ precision: "fast" });
// @ts-expect-error a misspelled option
new Scorer({ precison: "fast" });
// @ts-expect-error a weight is missing
new Scorer({ profiles: { poetry: { novelty: 1 } } });
// @ts-expect-error no store
new Scorer({ store: {} });
// @ts-expect-error no such option
evaluateValue(least, { signl: new AbortController().signal });
Scorer.open(new URL("file:///cache"), { signal: undefined, threads: undefined });
[least].map(evaluateValue);

// Importing.

declare const nodeStream: NodeJS.ReadableStream;
declare const webStream: ReadableStream<Uint8Array>;
declare const webText: ReadableStream<string>;
declare const chatMessages: readonly { role: "user"; content: string }[];
const oneOfEach: ImportSource[] = [
	"session.jsonl",
	new URL("file:///session.jsonl"),
	Buffer.alloc(0),
	nodeStream,
	webStream,
	webText,
	chatMessages,
	{ name: "stream", data: webStream },
	{ name: "object", data: { messages: chatMessages } },
];
for (const source of oneOfEach) expectType<TraceImport<ImportedItem>>()(importTraces(source));
const collecting = importTraces(oneOfEach, { errors: "collect" });
expectType<TraceImport>()(collecting);
expectType<ImportReport>()(collecting.report);
// @ts-expect-error the report is not to be set
collecting.report = { inputs: [] };
async () => {
	for await (const item of collecting) {
		expectType<ImportedItem | ImportFailure>()(item);
		// @ts-expect-error it may be a failure
		item.trace.task;
		if (item.error) expectType<ImportError>()(item.error);
		else evaluateValue(item.trace);
	}
};
expectType<TraceImport<MessagesItem>>()(toMessages(oneOfEach, { labels: new Map([["a", true]]) }));
async () => {
	for await (const { error, messages } of toMessages("session.jsonl", { errors: "collect" }))
		if (!error) messages satisfies ChatMessage[];
};
// @ts-expect-error labels are booleans
importTraces("session.jsonl", { labels: { a: 1 } });
new ImportError("", { code: "NO_TRACE", source: "", line: 1 }) satisfies ScoringError;
// @ts-expect-error without a source
new ImportError("", { code: "NO_TRACE" });
// @ts-expect-error no such format
importTraces("session.jsonl", { format: "vscode" });
// @ts-expect-error a misspelled option
importTraces("session.jsonl", { assumesuccess: true });
// @ts-expect-error no sources
importTraces(["session.jsonl", 5]);
async () => {
	// What has its own memory can be sent, put into a Blob or transferred.
	const scorer = new Scorer();
	expectType<ArrayBuffer>()((await scorer.snapshot()).buffer);
	expectType<ArrayBuffer>()((await scorer.embed("Hello")).buffer);
	for await (const chunk of scorer.evaluateLogs("x").lines())
		expectType<ArrayBuffer>()(chunk.buffer);
	// An imported trace is one of the SDK's units.
	const unit: KnowledgeUnit = await fromMessages(chatMessages);
	for await (const { trace } of importTraces("session.jsonl")) trace satisfies typeof unit;
};
// @ts-expect-error no messages
fromMessages("Hello");
expectType<Promise<ImportedTrace>>()(fromMessages([], { errors: "collect" }));
expectType<Promise<ImportedItem>>()(fromMessages([], { provenance: true }));
// @ts-expect-error of importTraces only
fromMessages([], { format: "messages" });

// Rows.

expectType<LogEvaluation<ScoreRow>>()(evaluateLogs(oneOfEach));
const evaluated = new Scorer().evaluateLogs("traces.jsonl", { errors: "collect" });
expectType<LogEvaluation>()(evaluated);
async () => {
	for await (const item of evaluated) {
		if ("error" in item) expectType<ImportError>()(item.error);
		else expectType<ScoreRow>()(item);
	}
};
// @ts-expect-error an error in place of a row
expectType<LogEvaluation<ScoreRow>>()(evaluated);
// @ts-expect-error unknown mode
evaluateLogs("traces.jsonl", { remember: "no" });
// @ts-expect-error unknown option
evaluateLogs("traces.jsonl", { groups: "/id" });

declare const row: ScoreRow;
calibrate([row]);
const { domain, score, dimensions, noveltySource, similarity, success, confidence } = row;
const fields = { domain, score, dimensions, noveltySource, success, confidence };
calibrate([{ ...fields, similarity }]);
// @ts-expect-error nothing can be calibrated without similarities
calibrate([fields]);
