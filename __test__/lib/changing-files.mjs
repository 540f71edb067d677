/** A model whose files are changed or removed once it is in use. */

import { join } from "node:path";
import { valueFrom } from "./child.mjs";
import { says, words } from "./traces.mjs";

const traces = Array.from({ length: 7 }, (_, i) => says(words(40 + i, i)));

async function scoreAndChange({ scoring, input }) {
	const { rmSync, writeFileSync } = await import("node:fs");
	const [first, ...others] = input.traces;
	const scores = [await scoring.evaluateValue(first)];
	for (const file of input.files) {
		rmSync(file);
		if (input.text) writeFileSync(file, input.text);
	}
	// Texts side by side need more of the model than one alone.
	const reports = await Promise.all(others.map(scoring.explainValue));
	scores.push(...reports.map(({ score }) => score));
	return [scores, reports.map(({ novelty }) => novelty.source)];
}

/**
 * Scores in a fresh process with the model in `folder`, the files `names` of which are replaced by
 * `text` after the first score, or removed where it is empty: the scores, and where they are from.
 */
export function scoresWhileChanging(folder, names, text, env = {}) {
	return valueFrom(scoreAndChange, {
		input: { traces, files: names.map((name) => join(folder, name)), text },
		env: { ...env, KNOWLEDGEPULSE_SCORING_MODEL_DIR: folder },
	});
}
