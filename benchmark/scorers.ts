import type { ReasoningTrace } from "@knowledgepulse/scoring";

/** Who is measured: this package, or the TypeScript way. */
export type Side = "ours" | "typescript";

export const SIDES: readonly Side[] = ["ours", "typescript"];

/** What both sides offer. */
export interface Scorer {
	evaluateValue(trace: ReasoningTrace): Promise<number>;
	_getLocalCache(): {
		readonly size: number;
		add(vector: Float32Array): void;
		clear(): void;
	};
	status?(): { embedder: { libraryVersion: string | null } };
}

/** Imports a side. Neither scores without its model: that would be fast, and no comparison. */
export async function loadScorer(side: Side): Promise<Scorer> {
	if (side === "typescript") {
		return import("./typescript/evaluate-value.js");
	}
	const scoring = await import("@knowledgepulse/scoring");
	scoring.configure({ embedder: "required" });
	return scoring;
}
