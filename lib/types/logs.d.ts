import type { evaluateValue } from "../../index.js";
import type { CallOptions } from "./calls.js";
import type { ImportError } from "./errors.js";
import type { ScoreReport } from "./report.js";
import type { Scorer } from "./scorer.js";
import type { StepType } from "./trace.js";

export { ImportError } from "./errors.js";

/**
 * The formats of agents' logs, in the order in which they are tried on a value.
 *
 * @example
 * ```ts
 * import { LOG_FORMATS } from "@knowledgepulse/scoring/logs";
 * console.log(LOG_FORMATS.includes("claude-code")); // true
 * ```
 */
export const LOG_FORMATS: readonly [
	"reasoning-trace",
	"atif",
	"gemini-cli",
	"vscode-chat",
	"antigravity",
	"kimi-code",
	"kiro",
	"grok-build",
	"junie",
	"vscode-debug",
	"openhands",
	"goose",
	"opencode",
	"copilot-cli",
	"cursor",
	"amp",
	"droid",
	"qwen-code",
	"cline",
	"otel",
	"langsmith",
	"inspect",
	"langfuse",
	"mini-swe-agent",
	"swe-agent",
	"tau",
	"codex",
	"pi",
	"claude-code",
	"messages",
];

/** A format of agents' logs: one of {@link LOG_FORMATS}. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/**
 * The content of a source: text, bytes, a Node.js or web stream of either, a `Blob`, a `File`, a `Response`, an
 * `ArrayBuffer`, or objects in memory.
 */
export type ImportData = string | Uint8Array | AsyncIterable<string | Uint8Array> | object;

/**
 * A log to import. Its format is detected from its content, which gzip or Zstandard may compress; text may be
 * UTF-16 with a byte order mark.
 *
 * - A string is text if its first non-blank character is `{` or `[`, otherwise the path of a file.
 * - A URL must be a `file:` URL.
 * - Bytes, a stream of bytes or text, a `Blob`, a `File`, which has a name, or a `Response` are a log. A file is open only
 *   while it is read: one that another file replaces meanwhile is an error.
 * - An array of objects is one conversation: the messages of the AI SDK, OpenAI, Anthropic and others.
 * - `{ name, data }` is a source with a name of your own; a string in it is always text.
 *
 * Without one, its name is its path as given, else `"source"`, or `"sources[1]"` among several.
 */
export type ImportSource =
	| string
	| URL
	| Uint8Array
	| ArrayBuffer
	| AsyncIterable<string | Uint8Array>
	| { arrayBuffer(): Promise<ArrayBuffer> }
	| readonly object[]
	| { name: string; data: ImportData };

/** Options of {@link fromMessages}, and of {@link importTraces}. */
export interface FromMessagesOptions extends CallOptions {
	/** Whether the run succeeded, for a source that is one run; takes precedence over the log. */
	success?: boolean | undefined;
	/** The agent's task, for a source that is one run; takes precedence over the log. */
	objective?: string | undefined;
	/**
	 * The success of runs whose log does not record it, or `"skip"` to leave such runs out. Default: none;
	 * such a run is the error `"SUCCESS_UNKNOWN"`, unless it is a trace whose `metadata.success_from` is `"assumed"`.
	 */
	assumeSuccess?: boolean | "skip" | undefined;
	/**
	 * A number in [0, 1], which takes precedence over the log; or `"logprobs"`: if the log states none, the
	 * geometric mean of the probabilities of the answers' tokens, if the log has them.
	 *
	 * Default: the confidence in the log, else 0.8 after success, 0.2 after failure.
	 */
	confidence?: number | "logprobs" | undefined;
	/** `metadata.task_domain`. Default: that of the format, such as `"code"`, or `"general"`. */
	domain?: string | undefined;
	/**
	 * `metadata.created_at` of a run without a time: an ISO 8601 time. Default: the present time with
	 * {@link fromMessages}, `"1970-01-01T00:00:00.000Z"` with {@link importTraces}.
	 */
	createdAt?: string | undefined;
	/** `metadata.visibility`. Default: `"private"`, because logs are not redacted. */
	visibility?: ImportedTrace["metadata"]["visibility"] | undefined;
	/** `metadata.privacy_level`. Default: `"private"`. */
	privacyLevel?: ImportedTrace["metadata"]["privacy_level"] | undefined;
	/**
	 * What tool calls of unknown types are. `"reject"` (default): the error `"UNKNOWN_RECORDS"`, which names the
	 * types. `"collect"`: left out, and counted in `provenance.skipped`.
	 */
	errors?: "reject" | "collect" | undefined;
}

/** Options of {@link importTraces}. */
export interface ImportOptions extends FromMessagesOptions {
	/** The only format to read; values of others are skipped. Default: all. */
	format?: LogFormat | undefined;
	/**
	 * Whether runs succeeded, by the ids of their traces, or else of their logs (`provenance.key`); takes precedence over the
	 * log and `assumeSuccess`, also for traces of a log of `"reasoning-trace"`. Ids that no run has are ignored. Default: none.
	 */
	labels?: ReadonlyMap<string, boolean> | Readonly<Record<string, boolean>> | undefined;
	/** `"reject"` (default): the first error ends the import. `"collect"`: errors are items, in order. */
	errors?: "reject" | "collect" | undefined;
	/** Ends the import: the next item rejects with the signal's reason. */
	signal?: AbortSignal | undefined;
}

/** Where the values of an imported trace come from. */
export interface Provenance {
	/** The version of the import rules. */
	importer: 1;
	format: LogFormat;
	/** The name of the source, and the line, from 1, at which the run, or its document of several lines, begins. */
	source: { name: string; line?: number };
	/** The log's own id of the run; `null` if the trace's `id` comes from its content. */
	key: string | null;
	/**
	 * `"human"`: the first user message; `"copied"`: one copied from another log; `"field"`, `"name"`: a field of
	 * the log, the name of the agent or run; `"command"`: a command of the user; `"option"`: the option
	 * `objective`; `"own"`: the log contains traces, which are not changed.
	 */
	objectiveFrom: "human" | "field" | "name" | "command" | "copied" | "option" | "own";
	/**
	 * A label in the log, how the run ended, `assumeSuccess`, or the options `success` and `labels`. `"assumed"` also
	 * for traces whose `metadata.success_from` says so.
	 */
	successFrom: "label" | "status" | "assumed" | "option" | "own";
	/** A confidence in the log, the option `confidence`, the probabilities of tokens, or 0.8 and 0.2. */
	confidenceFrom: "explicit" | "option" | "logprobs" | "default" | "own";
	/** The log, the option `createdAt`, or neither: the default of that option. */
	createdAtFrom: "source" | "option" | "none";
	domainFrom: "option" | "format" | "default" | "own";
	/** Skipped parts of the run, by reason. */
	skipped: Record<string, number>;
	/** What the log says of the run beside the trace; absent of the traces of a log of `"reasoning-trace"`. */
	facts?: RunFacts;
}

/**
 * Facts of a run, as its log has them, never estimated. A member is absent if the log has nothing for it.
 */
export interface RunFacts {
	/** Tool calls, without those of sub-agents, which have logs of their own. */
	calls: number;
	/** Calls that failed, without those that the user refused. */
	failed: number;
	/** Calls that the user refused. */
	refused: number;
	/** Calls without a result: all of them in logs that have no results. */
	unanswered: number;
	/** Calls with the name and the input of an earlier failed one. Each failure counts once. */
	retries: number;
	/** How often the user interrupted the agent. */
	interruptions?: number;
	/** Messages of the user, without commands such as `/clear`. */
	userMessages: number;
	/**
	 * Tokens of the models that the agent called: `input` without what was read from or written to the cache, `output`
	 * with reasoning.
	 */
	tokens?: { input: number; output: number; cacheRead?: number; cacheWrite?: number };
	/** The names of the models, in the order of their first use. */
	models?: string[];
	/** The time from the first to the last record, in milliseconds. */
	wallMs?: number;
	/**
	 * The time in which the agent was active, in milliseconds: the sum of the pauses before all records but messages of
	 * the user, each at most ten minutes. Of Inspect, its own working time.
	 */
	activeMs?: number;
	/** The first working directory. */
	cwd?: string;
	/** The first branch of the repository. */
	branch?: string;
	/** Sub-agents that the run launched, and their calls; absent if there were none. */
	subagents?: { launched: number; calls?: number };
}

/** One step of an imported trace. */
export interface ImportedStep {
	/** The place of the step, from 0. */
	step_id: number;
	type: StepType;
	/** The text; absent in a call. */
	content?: string;
	/** The tool of a call. */
	tool?: { name: string };
	/** The input of a call. */
	input?: Record<string, unknown>;
}

/**
 * An imported trace, with all fields of the protocol's `ReasoningTrace`: a `KnowledgeUnit` of the SDK. Those of
 * a log of `"reasoning-trace"` have the fields that the log has.
 */
export interface ImportedTrace {
	"@context": "https://openknowledgepulse.org/schema/v1";
	"@type": "ReasoningTrace";
	id: string;
	metadata: {
		/** An ISO 8601 time in UTC. */
		created_at: string;
		task_domain: string;
		success: boolean;
		/** Always 0: the protocol's place for a score, which an import does not compute. */
		quality_score: number;
		visibility: "private" | "org" | "network";
		privacy_level: "aggregated" | "federated" | "private";
		framework: LogFormat;
	};
	task: { objective: string };
	steps: ImportedStep[];
	outcome: {
		result_summary: string;
		/** In [0, 1]. */
		confidence: number;
	};
}

/** An imported trace, and where it comes from. */
export interface ImportedItem {
	trace: ImportedTrace;
	provenance: Provenance;
	error?: undefined;
}

/** With `errors: "collect"`, what could not be imported. */
export interface ImportFailure {
	error: ImportError;
	messages?: undefined;
	trace?: undefined;
	provenance?: undefined;
}

/** A report on an import. */
export interface ImportReport {
	/** One for each source, in order. */
	inputs: {
		name: string;
		formats: LogFormat[];
		/** Bytes read, decompressed. */
		bytes: number;
		traces: number;
		/** Skipped values that belong to no trace, by reason. */
		skipped: Record<string, number>;
		/** The first 1,000 errors. */
		errors: { code: string; line: number | null; message: string }[];
		errorCount: number;
	}[];
	/** Of `evaluateLogs` with `known`: traces whose ids were known. */
	known?: number | undefined;
}

/**
 * The traces of an import. Reading starts with the first `next()`. Its end closes files and streams.
 */
export interface TraceImport<Item = ImportedItem | ImportFailure>
	extends AsyncIterableIterator<Item> {
	return(value?: unknown): Promise<IteratorResult<Item>>;
	/**
	 * The report so far; complete when the import has ended. Never waits.
	 */
	readonly report: ImportReport;
}

/**
 * Imports the logs of agents: returns their runs as traces, off the event loop, the same for the same bytes.
 * Text is not changed, and the report counts what is skipped.
 * @param sources A source, or an array of several, which are read in order.
 * @throws `"INVALID_OPTION"` for a wrong option or source. The iteration rejects with an
 * {@link ImportError}, with the error of Node.js for a file, or with that of a stream; with `errors:
 * "collect"` all these are items. Traces before an error remain valid.
 * @example
 * ```ts
 * import { importTraces } from "@knowledgepulse/scoring/logs";
 * for await (const { trace } of importTraces("session.jsonl", { assumeSuccess: true }))
 *   console.log(trace.task.objective);
 * ```
 */
export function importTraces(
	sources: ImportSource | readonly ImportSource[],
	options?: ImportOptions & { errors?: "reject" | undefined },
): TraceImport<ImportedItem>;
export function importTraces(
	sources: ImportSource | readonly ImportSource[],
	options: ImportOptions,
): TraceImport;

/** A call of a tool: `arguments` is the JSON of an object, `id` differs from all others of the run. */
export interface ChatToolCall {
	id: string;
	type: "function";
	function: { name: string; arguments: string };
}

/** The definition of a tool: `parameters` is a JSON schema. */
export interface ChatTool {
	type: "function";
	function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

/**
 * A message in OpenAI's chat format. The calls of an answer stand in one message, and those after it answer each.
 * `reasoning_content` and `status` are beside the format; `content` is `""` in an answer without text.
 *
 * `status: "error"` is that of a tool that failed or was refused, `"success"` of one that did not though its text reads
 * so. Where the log has no result, the content says so, and the status `"unanswered"`, which {@link fromMessages} skips.
 */
export type ChatMessage =
	| { role: "system" | "user"; content: string }
	| { role: "assistant"; content: string; reasoning_content?: string; tool_calls?: ChatToolCall[] }
	| {
			role: "tool";
			content: string;
			tool_call_id: string;
			status?: "error" | "success" | "unanswered";
	  };

/** The messages of a run, and its trace. */
export interface MessagesItem extends ImportedItem {
	messages: ChatMessage[];
	/** Absent if the log has no definitions of tools. */
	tools?: ChatTool[];
	/** Calls without a result. */
	unanswered: number;
}

/**
 * Imports logs like {@link importTraces}, and returns each trace with the messages of its run, to train a model on.
 * {@link fromMessages} makes of them the steps of the trace again, as far as OpenAI's format can express their order.
 * @throws As {@link importTraces}. Messages of more than 256 MiB are the error `"TOO_LARGE"`.
 * @example
 * ```ts
 * import { toMessages } from "@knowledgepulse/scoring/logs";
 * for await (const { messages, tools, trace } of toMessages("session.jsonl", { assumeSuccess: "skip" }))
 *   if (trace.metadata.success) console.log(JSON.stringify({ messages, tools }));
 * ```
 */
export function toMessages(
	sources: ImportSource | readonly ImportSource[],
	options?: ImportOptions & { errors?: "reject" | undefined },
): TraceImport<MessagesItem>;
export function toMessages(
	sources: ImportSource | readonly ImportSource[],
	options: ImportOptions,
): TraceImport<MessagesItem | ImportFailure>;

/** Options of {@link evaluateLogs}. */
export interface EvaluateLogsOptions extends ImportOptions {
	/** Whether traces are added to the cache. Default: `true`. */
	remember?: boolean | undefined;
	/**
	 * `"skip"`: a trace whose id is in the memory when scoring begins, or belongs to an earlier trace of the sources,
	 * gets no row. `"again"` and `"score"` (default): as {@link ScoreOptions.known}.
	 */
	known?: "score" | "skip" | "again" | undefined;
	/**
	 * A JSON pointer (RFC 6901) into a trace, to the string, number or boolean that is the `group` of its
	 * row. Default: none.
	 */
	group?: string | undefined;
}

/** A scored trace, as a row for statistics. */
export interface ScoreRow {
	/** The name of the source, and the line, from 1, at which the run, or its document of several lines, begins. */
	source: { name: string; line: number };
	id: string | null;
	/** The log's own id of the run, as in {@link Provenance}. */
	key: string | null;
	group: string | null;
	/** `metadata.task_domain`, which selects the weights. */
	domain: string;
	/** `metadata.created_at`, `""` if the trace has none. */
	createdAt: string;
	score: number;
	dimensions: ScoreReport["dimensions"];
	/** The names of the rules that fired, in order. */
	overrides: ScoreReport["overrides"][number]["name"][];
	/** The id of the nearest earlier trace, if it has one. */
	nearest: string | null;
	/** The cosine similarity to that trace; `null` if the trace was compared with nothing. */
	similarity: number | null;
	noveltySource: ScoreReport["novelty"]["source"];
	success: boolean;
	successFrom: Provenance["successFrom"];
	confidence: number;
	confidenceFrom: Provenance["confidenceFrom"];
	/** The first 120 characters of the objective. */
	objective: string;
	steps: number;
	/** Tokens that the model has seen; `null` without an embedding. */
	tokens: number | null;
	/** Whether the model has seen only the beginning of the text. */
	isCut: boolean;
	/** As in {@link ConfigureOptions.novelty}; absent for `"text"`, and without an embedding. */
	novelty?: "run" | "words";
	/** The precision of the model; `null` without an embedding, and for the novelty `"words"`. */
	precision: string | null;
	/** Identifies the model, and what novelty compares; `null` without an embedding. */
	modelFingerprint: string | null;
	version: string;
	facts?: RunFacts;
}

/** The rows of {@link evaluateLogs}, in the order of the traces. */
export interface LogEvaluation<Item = ScoreRow | ImportFailure>
	extends AsyncIterableIterator<Item> {
	return(value?: unknown): Promise<IteratorResult<Item>>;
	/** The report so far, which is ahead of the rows; complete at the end. */
	readonly report: ImportReport;
	/**
	 * The remaining rows as NDJSON in UTF-8, in chunks of whole lines. With `errors: "collect"`, an error
	 * is the line `{"error":{code, source, line?, path?, message}}`.
	 */
	lines(): AsyncIterableIterator<ReturnType<typeof Uint8Array.of>>;
}

/**
 * Scores the traces in the logs of agents in order, like {@link importTraces} and {@link evaluateValue}, but
 * without creating trace objects. Reads up to 1,024 traces, or about 512 KiB of rows, ahead. If the iteration
 * ends early, traces without a score are not added to the cache. `budgetMs` does not apply.
 * @throws As {@link importTraces}. A trace that cannot be scored is an {@link ImportError} with the code of
 * {@link evaluateValue}, such as `"EMBEDDER_UNAVAILABLE"`. Rows before an error remain valid.
 * @example
 * ```ts
 * import { evaluateLogs } from "@knowledgepulse/scoring/logs";
 * for await (const { id, score } of evaluateLogs("traces.jsonl")) console.log(id, score);
 * ```
 */
export const evaluateLogs: Scorer["evaluateLogs"];

/**
 * Returns the trace of one conversation: messages of the AI SDK, Mastra, the OpenAI Agents SDK, LangChain,
 * OpenAI, Anthropic and others. Messages do not record success: give `success` or `assumeSuccess`.
 * @param messages Read before the function returns.
 * @param options With `provenance: true`, the result is the trace with its {@link Provenance}. Default: `false`.
 * @throws Rejects as {@link importTraces}, with `"UNKNOWN_RECORDS"` if a tool call cannot be read, and with
 * `"NO_TRACE"` if the messages contain no trace.
 * @example
 * ```ts
 * import { fromMessages } from "@knowledgepulse/scoring/logs";
 * const messages = [{ role: "user", content: "2 + 2?" }, { role: "assistant", content: "4" }];
 * const trace = await fromMessages(messages, { success: true });
 * ```
 */
export function fromMessages(
	messages: readonly object[],
	options?: FromMessagesOptions & { provenance?: false | undefined },
): Promise<ImportedTrace>;
export function fromMessages(
	messages: readonly object[],
	options: FromMessagesOptions & { provenance: true },
): Promise<ImportedItem>;
