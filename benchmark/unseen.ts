import { createHash } from "node:crypto";
import type { ReasoningTrace } from "@knowledgepulse/scoring";

/** Several times what the model sees; beyond it lies only the filling of a 10 MB text. */
const HEAD = 20_000;

const seen = new Set<string>();

/**
 * Makes sure that this process has never been given the text of one of these, so that nobody's
 * memory of earlier texts can be what is measured.
 */
export function assertUnseen(traces: readonly ReasoningTrace[]): void {
	for (const trace of traces) {
		const head = headOf(trace).toLowerCase();
		// A hash, because a slice would keep the whole text alive.
		const digest = createHash("sha1").update(head).digest("base64");
		if (seen.has(digest)) {
			throw new Error(`${trace.id} has a text that was scored before`);
		}
		seen.add(digest);
	}
}

function headOf(trace: ReasoningTrace): string {
	let text = trace.task.objective;
	for (const { content } of trace.steps) {
		if (text.length >= HEAD) break;
		text += ` ${(content ?? "").slice(0, HEAD)}`;
	}
	return text.slice(0, HEAD);
}
