import type { forget } from "../../index.js";
import type { LogFormat } from "./logs.js";
import type { Scorer } from "./scorer.js";

/** What an agent did in one step. Any other string is accepted and counts as a further type. */
export type StepType = "thought" | "tool_call" | "observation" | "error_recovery";

/** One step of a trace. Only `type`, `content` and `tool` are read. */
export interface ReasoningTraceStep {
	step_id?: number | undefined;
	type: StepType | (string & {});
	/** Default: `""`. */
	content?: string | null | undefined;
	/** All tools without a name count as one. */
	tool?: { name?: string | undefined } | null | undefined;
	input?: unknown;
}

/**
 * An agent's run, as in the KnowledgePulse protocol; the SDK's traces are assignable. Only `id` and
 * required fields are read.
 */
export interface ReasoningTrace {
	"@context"?: string | undefined;
	"@type"?: string | undefined;
	/** For reports and {@link forget}, without lone surrogates. Ignored if longer than 1,024 bytes of UTF-8. */
	id?: string | undefined;
	metadata: {
		/** Selects the weights by exact match, or the default ones. */
		task_domain: "code" | "customer_service" | "finance" | "medical" | (string & {});
		success: boolean;
		/** `"assumed"` if nothing says it: {@link Scorer.select} then does not take it for a failure. */
		success_from?: string | undefined;
		/** {@link SelectedTrace.standsFor} of an earlier selection. */
		stands_for?: number | null | undefined;
		/** {@link SelectedTrace.covers} of it. */
		covers?: number | null | undefined;
		created_at?: string | undefined;
		quality_score?: number | undefined;
		visibility?: string | undefined;
		privacy_level?: string | undefined;
		/** Of an imported trace: the {@link LogFormat}. */
		framework?: string | undefined;
	};
	task: { objective: string };
	/** May be empty. */
	steps: readonly ReasoningTraceStep[];
	outcome: {
		/** In [0, 1]. */
		confidence: number;
		result_summary?: string | undefined;
	};
}
