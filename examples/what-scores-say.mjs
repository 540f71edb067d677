/**
 * Analyses the scores and dimensions of runs in logs that record success:
 *
 *     node examples/what-scores-say.mjs LOG...
 *
 * Prints the distribution of the scores, the share above the protocol's thresholds, and for each dimension
 * how often a successful run has a greater value than a failed one (AUC), with its 95% interval.
 */
import { calibrate } from "@knowledgepulse/scoring/calibrate";
import { evaluateLogs } from "@knowledgepulse/scoring/logs";

const rows = [];
for await (const row of evaluateLogs(process.argv.slice(2)))
	rows.push({ ...row, label: row.success });

// Leaves out only the first run, which was compared with nothing.
const options = { first: 0 };
const { overall, labels } = await calibrate(rows, options);
const { min, percentiles, max } = overall.score;
const quantiles = percentiles.map(({ percent, value }) => `${percent}%: ${value.toFixed(3)}`);
console.log(`${rows.length} runs, ${rows.filter(({ success }) => success).length} of which succeeded
score   least ${min.toFixed(3)}, ${quantiles.join(", ")}, greatest ${max.toFixed(3)}`);
for (const { threshold, n, share } of overall.accepted)
	console.log(`at least ${threshold}: ${n} (${(100 * share).toFixed(0)}%)`);

const measures = {
	score: (row) => row.score,
	complexity: ({ dimensions }) => dimensions.complexity,
	novelty: ({ dimensions }) => dimensions.novelty,
	"tool diversity": ({ dimensions }) => dimensions.toolDiversity,
	"outcome confidence": ({ dimensions }) => dimensions.outcomeConfidence,
};
if (!labels) throw new Error("all runs have the same success: expected some of each kind");

function print(name, { value, interval }) {
	const range = interval ? ` (${interval.low.toFixed(2)} to ${interval.high.toFixed(2)})` : "";
	console.log(`AUC of ${name}: ${value.toFixed(2)}${range}`);
}
for (const [name, of] of Object.entries(measures)) {
	const scored = rows.map((row) => ({ ...row, score: of(row) }));
	print(name, (await calibrate(scored, options)).labels.auc);
}
// The outcome contains success, so only this AUC is informative.
print("score without outcome", labels.leakage.aucWithoutOutcome);
