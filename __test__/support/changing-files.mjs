/** Scores with a model whose files change while it is in use. */

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
	// Texts in parallel use more of the model than one.
	const reports = await Promise.all(others.map(scoring.explainValue));
	scores.push(...reports.map(({ score }) => score));
	return [scores, reports.map(({ novelty }) => novelty.source)];
}

/**
 * Scores in a fresh process with the model in `folder`. After the first score its files `names` are
 * replaced by `text`, or removed if that is empty. Returns scores and sources of novelty.
 */
export function scoresWhileChanging(folder, names, text, env = {}) {
	return valueFrom(scoreAndChange, {
		input: { traces, files: names.map((name) => join(folder, name)), text },
		env: { ...env, KNOWLEDGEPULSE_SCORING_MODEL: folder },
	});
}
