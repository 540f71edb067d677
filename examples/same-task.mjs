/**
 * Compares the kinds of novelty on repeated runs of the same tasks:
 *
 *     node examples/same-task.mjs LOG... --task-from-id REGEX
 *
 * The task of a run is what the first group of REGEX matches in its id, for example `airline-(\d+)-`. Prints for each kind
 * how often two runs of one task are more similar than two of different tasks (AUC, ties count half), how often the
 * nearest run is of the same task, and the precision at which half of the pairs of one task are found.
 */
import { parseArgs } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";

const { values, positionals } = parseArgs({
	options: { "task-from-id": { type: "string", default: "(.*)" } },
	allowPositionals: true,
});
const pattern = new RegExp(values["task-from-id"]);
const runs = [];
for (const log of positionals)
	for await (const { trace } of importTraces(log, { assumeSuccess: true })) {
		const task = pattern.exec(trace.id)?.[1];
		if (task === undefined) throw new Error(`--task-from-id matches nothing in ${trace.id}`);
		runs.push({ trace, task });
	}

const dot = (a, b) => a.reduce((sum, x, index) => sum + x * b[index], 0);
const isSame = (i, j) => runs[i].task === runs[j].task;
const percent = (share) => `${(100 * share).toFixed(0)}%`.padStart(7);
const indexes = Array.from(runs.keys());
const pairs = indexes.flatMap((i) => indexes.slice(0, i).map((j) => [i, j]));
const same = pairs.filter(([i, j]) => isSame(i, j)).length;
if (same === 0 || same === pairs.length)
	throw new Error("expected runs of one task and of different tasks");

/** The share of runs whose most similar run is of the same task. */
function nearestOf(similarity) {
	const isRight = (i) => {
		const others = indexes.filter((j) => j !== i);
		const nearest = others.reduce((a, b) => (similarity(i, b) > similarity(i, a) ? b : a));
		return isSame(i, nearest);
	};
	return indexes.filter(isRight).length / runs.length;
}

/** The AUC, and the precision at half recall. */
function separationOf(similarity) {
	const bySimilarity = new Map();
	for (const [i, j] of pairs) {
		const value = similarity(i, j);
		const tied = bySimilarity.get(value) ?? { same: 0, different: 0 };
		tied[isSame(i, j) ? "same" : "different"]++;
		bySimilarity.set(value, tied);
	}
	let [found, taken, wins, precision] = [0, 0, 0, undefined];
	for (const [, tied] of [...bySimilarity].sort(([a], [b]) => b - a)) {
		wins += tied.different * (found + tied.same / 2);
		found += tied.same;
		taken += tied.same + tied.different;
		if (found >= same / 2) precision ??= found / taken;
	}
	return { auc: wins / (same * (pairs.length - same)), precision };
}

console.log(`${runs.length} runs, ${same} pairs of one task
novelty    AUC  nearest  precision at half recall`);
for (const novelty of ["text", "words", "run"]) {
	const scorer = new Scorer({ novelty });
	const vectors = await Promise.all(runs.map(({ trace }) => scorer.embed(trace)));
	const similarity = (i, j) => dot(vectors[i], vectors[j]);
	const { auc, precision } = separationOf(similarity);
	const nearest = percent(nearestOf(similarity));
	console.log(`${novelty.padEnd(7)} ${auc.toFixed(3)}  ${nearest}  ${percent(precision)}`);
}
