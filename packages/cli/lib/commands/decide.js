/** kp-score score --decide */
const { callWithAll } = require("../engine.js");
const { atLast } = require("../exit.js");
const { show } = require("../output.js");
const { shortId } = require("../row-table.js");
const { Job } = require("../job.js");
const { openScorer } = require("../scorer.js");
const { Statistics } = require("../statistics.js");
const { sourcesOf } = require("../sources.js");
const { goOn, openRows } = require("../unfinished.js");
const { cell, count, fit, percent, style } = require("../terminal.js");

function lineOf({ accepted, bounds, id, objective, score }, { width }) {
	const [least, greatest] = bounds.map((bound) => bound.toFixed(3));
	const found = score === null ? `${least} to ${greatest}` : score.toFixed(3);
	const mark = accepted ? style("green", "✓") : style("dim", "·");
	const name = style("dim", cell(shortId(id) || "(no id)", 20));
	return `${mark} ${found.padEnd(14)}  ${name}  ${fit(objective, Math.max(width - 41, 8))}\n`;
}

module.exports = async function decide([args], options) {
	const { memory, minShare } = options;
	const job = await Job.open(options, await sourcesOf(args), openRows(args));
	const { unfinished } = job.output;
	const { known, profiles, save, scorer } = await openScorer(job, { saved: true, again: true });
	const threshold = options.threshold ?? scorer.status().threshold;
	let accepted = 0;
	let embedded = 0;
	let added = 0;
	const take = async ({ trace, provenance, report: decision }) => {
		if (decision.accepted) accepted += 1;
		// It is embedded after the decision.
		if (decision.accepted && decision.score === null) added += 1;
		if (decision.score !== null && decision.novelty.source !== "no-embedder") embedded += 1;
		const { source, successFrom } = provenance;
		const { id = null, task } = trace;
		const row = { source, id, objective: task.objective, successFrom, ...decision };
		await show(job.output, row, lineOf);
	};
	// All are decided again, as they were then; a row that is there is not written again.
	await goOn(job, () => {});
	const decided = callWithAll((trace) => scorer.decide(trace, { known, threshold }), job);
	const isNeeded = minShare !== undefined || memory !== undefined;
	const remarks = await job.each(decided, take, { isNeeded });
	await job.commit();
	if (added > 0) await scorer.warmup();
	await save();
	if (unfinished && !job.signal.aborted) atLast(() => unfinished.end());
	const { traces } = remarks;
	const share = traces === 0 ? 0 : accepted / traces;
	job.note(
		`${accepted} of ${count(traces, "trace")} (${percent(share)}) score ${threshold} or more; the model saw ${count(embedded + added, "text")}`,
	);
	remarks.noteAssumed();
	remarks.warnOfDomain();
	remarks.warnOfNames(profiles);
	remarks.warnOfLosses("not decided");
	const isMet = minShare === undefined || share >= minShare;
	return job.exitCode(isMet, Statistics.gateText(share, { minShare, threshold }));
};
