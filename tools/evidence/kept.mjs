/** The ways to keep some of many runs, and what those that are kept are worth. */
import { Scorer } from "@knowledgepulse/scoring";
import { random } from "../../__test__/support/traces.mjs";

/** How many random choices are averaged, samples of tasks an interval is from, and parts a selection in two rounds has. */
const [DRAWS, SAMPLES, PARTS] = [20, 1000, 8];

/** The most similar of other runs; of equals the first. */
const nearestOf = (similarity, run, others) =>
	others.reduce((a, b) => (similarity(run, b) > similarity(run, a) ? b : a));

/** How often a success has a greater value than a failure, ties by half. Each counts as often as `times` says of its task. */
export function aucOf(ascending, times) {
	let [solved, unsolved, wins] = [0, 0, 0];
	for (let at = 0; at < ascending.length; ) {
		const { value } = ascending[at];
		const [before, below] = [solved, unsolved];
		for (; ascending[at]?.value === value; at++)
			if (ascending[at].success) solved += times[ascending[at].task];
			else unsolved += times[ascending[at].task];
		wins += (solved - before) * ((below + unsolved) / 2);
	}
	return wins / (solved * unsolved);
}

const sumOf = (list, of) => list.reduce((sum, each) => sum + of(each), 0);

/** The list in ascending order of a number that is asked for once. */
export function sortedBy(list, of) {
	const keyed = list.map((each) => [of(each), each]);
	return keyed.sort(([a], [b]) => a - b).map(([, each]) => each);
}

const coverOf = (similarity, run, by) => Math.max(0, similarity(run, by)) ** 3;

const scorer = new Scorer({ novelty: "run" });

/** The runs that `select` keeps in order, with what each stands for. */
async function select(runs, count) {
	const traces = runs.map(({ trace }) => trace);
	const kept = await scorer.select(traces, { count });
	return kept.map(({ index, standsFor, covers }) => {
		const metadata = { ...traces[index].metadata, stands_for: standsFor, covers };
		return { ...runs[index], trace: { ...traces[index], metadata } };
	});
}

/** What a selection of parts, and then of what these kept, covers, as a share of what one of all does. */
export async function coverByParts({ runs, similarity }, count) {
	const by = (run) => (one) => coverOf(similarity, run, one) * (one.success ? 1 : 0.5);
	const cover = (kept) => sumOf(runs, (run) => Math.max(...kept.map(by(run))));
	const size = Math.ceil(runs.length / PARTS);
	const first = [];
	for (let at = 0; at < runs.length; at += size)
		first.push(...(await select(runs.slice(at, at + size), count)));
	return cover(await select(first, count)) / cover(await select(runs, count));
}

/** k-medoids: each run goes to its nearest medoid, then the most central run of a group is its medoid. */
function medoids(similarity, runs, kept) {
	const groups = new Map(kept.map((medoid) => [medoid, []]));
	for (const run of runs) groups.get(nearestOf(similarity, run, kept)).push(run);
	const sumFor = ([medoid, group]) => sumOf(group, (run) => similarity(medoid, run));
	const central = Array.from(groups, ([medoid, group]) =>
		group.reduce((a, b) => (sumFor([b, group]) > sumFor([a, group]) ? b : a), medoid),
	);
	if (central.some((run) => !groups.has(run))) return medoids(similarity, runs, central);
	return { kept, sum: sumOf([...groups], sumFor) };
}

/** One run of each equal objective, then a second one of each. */
function inTurn(runs) {
	const turns = new Map();
	return sortedBy(runs, ({ trace: { task } }) => {
		turns.set(task.objective, (turns.get(task.objective) ?? 0) + 1);
		return turns.get(task.objective);
	});
}

/** Returns the function that gives, by the name of each way, the runs that it keeps: of random ones several choices. */
export async function waysOf({ runs, similarity }, most) {
	const unknown = runs.map((run) => {
		const metadata = { ...run.trace.metadata, success: true };
		return { ...run, trace: { ...run.trace, metadata } };
	});
	const ranked = {
		longest: sortedBy(runs, ({ trace }) => -trace.steps.length),
		"best score": sortedBy(runs, ({ report }) => -report.score),
		"select, success unknown": await select(unknown, most),
		"select, success known": await select(runs, most),
		"select --success": await select(
			runs.filter(({ success }) => success),
			most,
		),
	};
	return (count) => {
		const draw = random(2);
		const shuffled = () => sortedBy(runs, draw);
		const several = (choose) => Array.from({ length: DRAWS }, () => choose().slice(0, count));
		const chance = several(shuffled);
		const grouped = chance.map((first) => medoids(similarity, runs, first));
		const ways = {
			random: chance,
			"one of each objective": several(() => inTurn(shuffled())),
			"k-medoids, same vectors": [grouped.reduce((a, b) => (b.sum > a.sum ? b : a)).kept],
		};
		for (const name in ranked) ways[name] = [ranked[name].slice(0, count)];
		ways["all, but itself"] = [runs];
		return Object.entries(ways).filter(([, [kept]]) => kept.length > 0);
	};
}

/** The measures of kept runs, from what `judge` counts. */
export const MEASURES = {
	"tasks covered": ({ isCovered, kept }, times) => isCovered / Math.min(kept, times.length),
	"nearest of same task": ({ same, rest }) => same / rest,
	"… and it succeeded": ({ useful, rest }) => useful / rest,
	"success of kept": ({ succeeded, kept }) => succeeded / kept,
	"AUC of the rest": (_, times, predicted) => aucOf(predicted, times),
};

/**
 * Counts by task what kept runs are to the others, and predicts whether these succeeded: the `value` of each, in ascending
 * order, is the share of successes among the kept runs, weighed as in a selection. Of all runs, each is compared with the
 * others.
 */
export function judge({ runs, similarity, tasks }, kept) {
	const names = ["isCovered", "kept", "succeeded", "rest", "same", "useful"];
	const sums = Object.fromEntries(names.map((name) => [name, new Float64Array(tasks)]));
	for (const { task, success } of kept) {
		sums.isCovered[task] = 1;
		sums.kept[task] += 1;
		sums.succeeded[task] += success;
	}
	const places = new Set(kept === runs ? [] : kept.map(({ index }) => index));
	const rest = runs.filter(({ index }) => !places.has(index));
	const predicted = rest.map((run) => {
		const { task, success } = run;
		const others = kept.filter((other) => other !== run);
		const near = nearestOf(similarity, run, others);
		sums.rest[task] += 1;
		sums.same[task] += near.task === task;
		sums.useful[task] += near.task === task && near.success;
		const covers = others.map((other) => coverOf(similarity, run, other));
		const all = sumOf(covers, (cover) => cover);
		const solved = sumOf([...covers.keys()], (at) => covers[at] * others[at].success);
		return { task, success, value: all > 0 ? solved / all : 0.5 };
	});
	return { sums, predicted: sortedBy(predicted, ({ value }) => value) };
}

/** Returns each measure in the mean of several judgements: `value`, and those of `samples` of tasks. */
export function estimate(judgements, tasks) {
	const measured = ({ sums, predicted }, times) => {
		const all = {};
		for (const name in sums) {
			all[name] = 0;
			for (let task = 0; task < tasks; task++) all[name] += times[task] * sums[name][task];
		}
		return Object.values(MEASURES).map((measure) => measure(all, times, predicted));
	};
	const mean = (times) => {
		const all = judgements.map((judgement) => measured(judgement, times));
		return all[0].map((_, at) => sumOf(all, (values) => values[at]) / all.length);
	};
	const draw = random(1);
	const samples = Array.from({ length: SAMPLES }, () => {
		const times = new Uint16Array(tasks);
		for (let n = 0; n < tasks; n++) times[Math.floor(draw() * tasks)] += 1;
		return mean(times);
	});
	const values = mean(new Uint16Array(tasks).fill(1));
	return values.map((value, at) => ({ value, samples: samples.map((all) => all[at]) }));
}
