// Compiled, never run: a line below `@ts-expect-error` must not compile, every other one must. An ES module gets
// its types by the "import" condition of the package; types.commonjs.test-d.cts by "require".

import {
	_getLocalCache,
	type ConfigureOptions,
	configure,
	type Decision,
	decide,
	embed,
	evaluateValue,
	evaluateValues,
	explainValue,
	explainValues,
	InvalidTraceError,
	type NoveltyStore,
	type ReasoningTrace,
	type ReasoningTraceStep,
	remember,
	type ScoreFailure,
	type ScoreReport,
	Scorer,
	ScoringError,
	type ScoringErrorCode,
	type ScoringStatus,
	type ScoringWeights,
	type SimilarTrace,
	scoreWith,
	similar,
	status,
	VectorCache,
	type VectorCacheOptions,
	warmup,
} from "@knowledgepulse/scoring";
import {
	type EvaluateLogsOptions,
	evaluateLogs,
	type FromMessagesOptions,
	fromMessages,
	ImportError,
	type ImportedItem,
	type ImportedTrace,
	type ImportFailure,
	type ImportOptions,
	type ImportReport,
	type ImportSource,
	importTraces,
	type LogEvaluation,
	type LogFormat,
	type Provenance,
	type ScoreRow,
	type TraceImport,
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
new ScoringError("", { code: undefined, path: named });

// A literal with nothing but what is needed, and with everything that is allowed.

const least = {
	metadata: { task_domain: "code", success: true },
	task: { objective: "" },
	steps: [],
	outcome: { confidence: 0 },
};
evaluateValue(least);
evaluateValue({
	"@context": "https://knowledgepulse.dev/schema/v1",
	"@type": "ReasoningTrace",
	id: "kp:trace:1",
	metadata: {
		task_domain: "code",
		success: true,
		created_at: "",
		quality_score: 0,
		visibility: "network",
		privacy_level: "aggregated",
	},
	task: { objective: "" },
	steps: [
		{ type: "thought" },
		{
			step_id: 1,
			type: "something of my own",
			content: null,
			tool: null,
			input: 5,
		},
		{ type: "tool_call", content: "x", tool: {} },
		{ type: "tool_call", tool: { name: "a" }, input: { deep: [1] } },
	],
	outcome: { confidence: 1, result_summary: "" },
});

// What is no trace.

// @ts-expect-error no trace
evaluateValue();
// @ts-expect-error no object
evaluateValue("trace");
// @ts-expect-error no object
evaluateValue(null);
// @ts-expect-error nothing of it
evaluateValue({});
// @ts-expect-error no objective
evaluateValue({ ...least, task: {} });
// @ts-expect-error objective
evaluateValue({ ...least, task: { objective: 5 } });
// @ts-expect-error no task_domain
evaluateValue({ ...least, metadata: { success: true } });
// @ts-expect-error success
evaluateValue({ ...least, metadata: { task_domain: "code", success: "yes" } });
// @ts-expect-error confidence
evaluateValue({ ...least, outcome: { confidence: "high" } });
// @ts-expect-error no confidence
evaluateValue({ ...least, outcome: {} });
// @ts-expect-error steps
evaluateValue({ ...least, steps: {} });
// @ts-expect-error a step without a type
evaluateValue({ ...least, steps: [{ content: "x" }] });
// @ts-expect-error type
evaluateValue({ ...least, steps: [{ type: 5 }] });
// @ts-expect-error content
evaluateValue({ ...least, steps: [{ type: "thought", content: 5 }] });
// @ts-expect-error tool
evaluateValue({ ...least, steps: [{ type: "thought", tool: "hammer" }] });
// @ts-expect-error tool.name
evaluateValue({ ...least, steps: [{ type: "thought", tool: { name: 5 } }] });

// The report.

declare const report: ScoreReport;
expectType<number>()(report.score);
expectType<ScoringWeights>()(report.weights);
expectType<
	"cache" | "empty-cache" | "store" | "given" | "no-embedder" | "no-store" | "over-budget"
>()(report.novelty.source);
expectType<number | null>()(report.novelty.seq);
expectType<string | null>()(report.novelty.nearest);
expectType<number | undefined>()(report.text?.tokens);
expectType<boolean | undefined>()(report.text?.fromMemo);
expectType<string | undefined>()(report.text?.modelName);
expectType<number | undefined>()(report.text?.unknownTokens);
expectType<number>()(report.timesMs.infer);
expectType<number | null>()(report.novelty.maxSimilarity);
expectType<string | null>()(report.novelty.reason);
expectType<string>()(report.profile);
const weights: ScoringWeights = {
	complexity: 0.25,
	novelty: 0.35,
	toolDiversity: 0.15,
	outcomeConfidence: 0.25,
};
// @ts-expect-error a weight is missing
({ complexity: 1, novelty: 0, toolDiversity: 0 }) satisfies ScoringWeights;

// Errors.

declare const caught: unknown;
if (caught instanceof InvalidTraceError) {
	expectType<"INVALID_TRACE">()(caught.code);
	expectType<string>()(caught.path);
} else if (caught instanceof ScoringError) {
	expectType<ScoringErrorCode>()(caught.code);
	expectType<string | undefined>()(caught.path);
}
declare const invalid: InvalidTraceError;
invalid satisfies ScoringError & Error;

// The cache.

const cache = new VectorCache({ maxElements: 10, dimensions: 3, ttlMs: 1000 });
new VectorCache();
expectType<VectorCache>()(_getLocalCache());
expectType<number>()(cache.size);
expectType<void>()(cache.add(new Float32Array(3)));
expectType<number>()(cache.maxCosineSimilarity([1, 2, 3]));
cache.add(new Float64Array(3));
cache.add([1, 2, 3] as const);
cache.add({ length: 1, 0: 1 });
expectType<void>()(cache.evictExpired());
expectType<void>()(cache.clear());
// @ts-expect-error the size is not to be set
cache.size = 0;
// @ts-expect-error no numbers
cache.add(["1"]);
// @ts-expect-error bigints
cache.add(new BigInt64Array(3));
// @ts-expect-error unknown option
new VectorCache({ capacity: 5 });
// @ts-expect-error an option of another type
({ ttlMs: "1 h" }) satisfies VectorCacheOptions;
// @ts-expect-error without new
VectorCache();

// Settings and status.

expectType<void>()(
	configure({
		embedder: "required",
		backend: "native",
		precision: "fast",
		model: "model",
		pooling: "last",
		normalize: false,
		maxTokens: 8192,
		prefix: "query: ",
		output: "sentence_embedding",
		library: "library",
	}),
);
configure({});
// @ts-expect-error no such mode
configure({ embedder: "on" });
// @ts-expect-error no such precision
configure({ precision: "slow" });
// @ts-expect-error no such backend
configure({ backend: "onnxruntime" });
// @ts-expect-error unknown option
({ modle: "model" }) satisfies ConfigureOptions;
expectType<ScoringStatus>()(status());
expectType<"idle" | "loading" | "ready" | "unavailable">()(status().embedder.state);
expectType<"exact" | "fast">()(status().embedder.precision);
configure({ precision: status().embedder.precision });
expectType<"onnx" | "native">()(status().embedder.backend);
configure({ backend: status().embedder.backend });
expectType<string | null>()(status().embedder.library);

// Warming up.

expectType<Promise<ScoringStatus>>()(warmup());
// @ts-expect-error no such option
warmup({ precision: "fast" });

// The scorer.

const scorer = new Scorer({
	profiles: { poetry: weights },
	cache: { maxElements: 10, ttlMs: 60_000 },
	embedder: "required",
	precision: "fast",
	threads: 1,
	budgetMs: 100,
	longText: "whole",
});
// @ts-expect-error a misspelled option
new Scorer({ precison: "fast" });
// @ts-expect-error a weight is missing
new Scorer({ profiles: { poetry: { novelty: 1 } } });
expectType<Promise<number>>()(scorer.evaluateValue(least));
expectType<Promise<number>>()(scorer.evaluateValue(least, { remember: false }));
expectType<Promise<void>>()(scorer.remember(least));
expectType<Promise<number>>()(scorer.forget("id"));
expectType<Promise<void>>()(scorer.clear());
expectType<Promise<Buffer>>()(scorer.snapshot());
expectType<Promise<Scorer>>()(Scorer.restore(Buffer.alloc(0)));
expectType<Promise<Scorer>>()(Scorer.restore(new Uint8Array(), { threads: 1 }));
expectType<Promise<Scorer>>()(Scorer.load("path"));
expectType<Promise<void>>()(scorer.save("path"));
expectType<void>()(scorer.close());
expectType<VectorCache>()(scorer.cache);
expectType<ScoringStatus>()(scorer.status());
const { signal } = new AbortController();
evaluateValue(least, { signal });
explainValue(least, { signal });
explainValue(least, { signal, remember: false });
remember(least, { signal });
warmup({ signal });
scorer.warmup({ signal });
scorer.snapshot({ signal });
scorer.save("path", { signal });
[least].map(evaluateValue);
// @ts-expect-error no such option
evaluateValue(least, { signl: signal });
expectType<Promise<number[]>>()(evaluateValues([least], { signal }));
expectType<Promise<number[]>>()(evaluateValues(new Set([least])));
expectType<Promise<(number | ScoreFailure)[]>>()(evaluateValues([least], { errors: "collect" }));
expectType<AsyncIterableIterator<ScoreReport>>()(explainValues([least]));
async () => {
	for await (const { score, error } of explainValues([least], { errors: "collect" }))
		if (!error) expectType<number>()(score);
};
expectType<Promise<Scorer>>()(
	Scorer.open(new URL("file:///cache"), { signal, threads: undefined }),
);
// @ts-expect-error no such way with errors
evaluateValues([least], { errors: "ignore" });

// Vectors, and reports for a similarity found elsewhere.

expectType<Promise<Float32Array>>()(embed("text"));
expectType<Promise<Float32Array>>()(embed(least, { signal }));
expectType<ScoreReport>()(scoreWith(least, { maxSimilarity: null }));
expectType<ScoreReport>()(scoreWith(least, report.novelty, { profiles: {} }));
// @ts-expect-error no similarity
scoreWith(least, {});

// Decisions, and similar traces.

expectType<Promise<Decision>>()(decide(least));
expectType<Promise<Decision>>()(
	new Scorer({ threshold: 0.5 }).decide(least, { exact: true, remember: "all", signal }),
);
declare const decision: Decision;
expectType<boolean>()(decision.accepted);
expectType<number | null>()(decision.score);
// @ts-expect-error remember is not a boolean here
decide(least, { remember: true });
// @ts-expect-error no text is decided on
decide("text");
expectType<Promise<SimilarTrace[]>>()(similar("text", { k: 3, atLeast: 0.5 }));
expectType<Promise<SimilarTrace[]>>()(new Scorer().similar(least, { signal }));
declare const found: SimilarTrace;
expectType<Date>()(found.addedAt);

// A scorer with a store.

declare const store: NoveltyStore;
const shared = new Scorer({
	store,
	storeMode: "required",
	storeTimeoutMs: 100,
});
expectType<"idle" | "ready" | "unavailable" | undefined>()(shared.status().store?.state);
// @ts-expect-error no store
new Scorer({ store: {} });
// @ts-expect-error "off"
new Scorer({ store, storeMode: "off" });

// Importing.

declare const nodeStream: NodeJS.ReadableStream;
declare const webStream: ReadableStream<Uint8Array>;
declare const webText: ReadableStream<string>;
declare const chatMessages: readonly { role: "user"; content: string }[];
const oneOfEach: ImportSource[] = [
	"session.jsonl",
	new URL("file:///session.jsonl"),
	new Uint8Array(),
	Buffer.alloc(0),
	nodeStream,
	webStream,
	webText,
	chatMessages,
	{ name: "text", data: "{}" },
	{ name: "stream", data: webStream },
	{ name: "messages", data: chatMessages },
	{ name: "object", data: { messages: chatMessages } },
];
for (const source of oneOfEach) expectType<TraceImport<ImportedItem>>()(importTraces(source));
expectType<TraceImport<ImportedItem>>()(importTraces(oneOfEach));
expectType<TraceImport<ImportedItem>>()(importTraces(chatMessages, { errors: "reject", signal }));
const rejecting = importTraces("session.jsonl", { assumeSuccess: "skip" });
async () => {
	for await (const { trace, provenance } of rejecting) {
		expectType<ImportedTrace>()(trace);
		expectType<Provenance>()(provenance);
		expectType<LogFormat>()(provenance.format);
		expectType<number | undefined>()(provenance.source.line);
		expectType<string | null>()(provenance.key);
		evaluateValue(trace);
	}
};
expectType<ImportReport>()(rejecting.report);
expectType<number | undefined>()(rejecting.report.inputs[0]?.traces);
expectType<number | undefined>()(rejecting.report.inputs[0]?.skipped.late);
// @ts-expect-error the report is not to be set
rejecting.report = { inputs: [] };
const collecting = importTraces("session.jsonl", { errors: "collect" });
expectType<TraceImport>()(collecting);
async () => {
	for await (const item of collecting) {
		expectType<ImportedItem | ImportFailure>()(item);
		// @ts-expect-error it may be a failure
		item.trace.task;
		if (item.error) {
			expectType<ImportError>()(item.error);
			expectType<string>()(item.error.source);
			expectType<number | undefined>()(item.error.line);
			expectType<string | undefined>()(item.error.path);
		} else expectType<ImportedTrace>()(item.trace);
	}
};
new ImportError("", { source: "", line: 1 }) satisfies ScoringError;
importTraces("session.jsonl", {
	format: "claude-code",
	assumeSuccess: true,
	confidence: "logprobs",
	domain: "code",
	createdAt: "2026-01-01",
	visibility: "private",
	privacyLevel: "federated",
	objective: "",
	success: false,
});
// @ts-expect-error no such format
importTraces("session.jsonl", { format: "vscode" });
// @ts-expect-error no such way to assume
importTraces("session.jsonl", { assumeSuccess: "yes" });
// @ts-expect-error a misspelled option
importTraces("session.jsonl", { assumesuccess: true });
// @ts-expect-error no source
importTraces(5);
// @ts-expect-error no sources
importTraces(["session.jsonl", 5]);
// @ts-expect-error no source is missing
importTraces();
const messagesOptions: FromMessagesOptions = { success: true };
messagesOptions satisfies ImportOptions;
expectType<Promise<ImportedTrace>>()(fromMessages(chatMessages));
async () => {
	const unit: KnowledgeUnit = await fromMessages(chatMessages);
	for await (const { trace } of importTraces("session.jsonl")) trace satisfies typeof unit;
};
fromMessages(chatMessages, messagesOptions);
fromMessages([], { ...messagesOptions, signal });
// @ts-expect-error no messages
fromMessages("Hello");
expectType<Promise<ImportedTrace>>()(fromMessages([], { errors: "collect", confidence: 0.4 }));
expectType<Promise<ImportedItem>>()(fromMessages([], { ...messagesOptions, provenance: true }));
// @ts-expect-error of importTraces only
fromMessages([], { format: "messages" });

// Rows.

expectType<LogEvaluation<ScoreRow>>()(evaluateLogs(oneOfEach));
expectType<LogEvaluation<ScoreRow>>()(
	new Scorer().evaluateLogs("traces.jsonl", { errors: "reject", signal }),
);
const evaluated = evaluateLogs("traces.jsonl", {
	remember: false,
	group: "/metadata/session_id",
	errors: "collect",
	assumeSuccess: "skip",
	format: "codex",
});
expectType<LogEvaluation>()(evaluated);
expectType<LogEvaluation>()(new Scorer().evaluateLogs("traces.jsonl", { errors: "collect" }));
expectType<ImportReport>()(evaluated.report);
expectType<AsyncIterableIterator<Uint8Array>>()(evaluated.lines());
async () => {
	for await (const row of evaluateLogs("traces.jsonl")) {
		expectType<ScoreRow>()(row);
		expectType<string>()(row.source.name);
		expectType<number>()(row.source.line);
		expectType<string | null>()(row.group);
		expectType<number | null>()(row.similarity);
		expectType<ScoreReport["novelty"]["source"]>()(row.noveltySource);
	}
	for await (const item of evaluated) {
		if ("error" in item) expectType<ImportError>()(item.error);
		else expectType<ScoreRow>()(item);
	}
};
declare const jsonOptions: EvaluateLogsOptions;
evaluateLogs("traces.jsonl", jsonOptions);
// @ts-expect-error an error in place of a row
expectType<LogEvaluation<ScoreRow>>()(evaluated);
// @ts-expect-error unknown mode
evaluateLogs("traces.jsonl", { remember: "no" });
// @ts-expect-error no JSON pointer
evaluateLogs("traces.jsonl", { group: 5 });
// @ts-expect-error unknown option
evaluateLogs("traces.jsonl", { groups: "/id" });
// @ts-expect-error no source
evaluateLogs();
