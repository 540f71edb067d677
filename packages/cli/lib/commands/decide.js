/** kp-score score --decide */
const { callWithAll } = require("../engine.js");
const run = require("../run.js");
const { count, fit, percent, style } = require("../terminal.js");

/** The line of a decision: its score, or the bounds of the score. */
function lineOf({ accepted, bounds, id, objective, score }, { width }) {
	const [least, greatest] = bounds.map((bound) => bound.toFixed(3));
	const found = score === null ? `${least} to ${greatest}` : score.toFixed(3);
	const mark = accepted ? style("green", "✓") : style("dim", "·");
	const name = style("dim", fit(id ?? "(no id)", 36).padEnd(36));
	return `${mark} ${found.padEnd(14)}  ${name}  ${fit(objective, Math.max(width - 56, 8))}\n`;
}

module.exports = function decide([args], options) {
	const { memory, minShare } = options;
	return run.overSources(args, options, { saved: true }, async (context) => {
		const { imported, isText, output, session, sources, stop } = context;
		const { scorer } = session;
		const threshold = options.threshold ?? scorer.status().threshold;
		const call = (trace) => scorer.decide(trace, { threshold });
		const decided = callWithAll(call, sources, imported);
		const remarks = new run.Remarks(options);
		let accepted = 0;
		let embedded = 0;
		let added = 0;
		const take = async ({ trace, provenance, report: decision }) => {
			const { source, successFrom } = provenance;
			remarks.add({ domain: trace.metadata.task_domain, successFrom });
			if (decision.accepted) accepted += 1;
			// It is embedded after the decision.
			if (decision.accepted && decision.score === null) added += 1;
			if (decision.score !== null && decision.novelty.source !== "no-embedder") embedded += 1;
			const { id = null, task } = trace;
			const row = { source, id, objective: task.objective, successFrom, ...decision };
			await output.write(isText ? lineOf(row, output) : `${JSON.stringify(row)}\n`);
		};
		const isNeeded = minShare !== undefined || memory !== undefined;
		const { traces, errors } = await run.each(decided, { ...context, isNeeded }, take);
		await run.commit(output, options);
		if (added > 0) await scorer.warmup();
		await session.save();
		const share = traces === 0 ? 0 : accepted / traces;
		const note = run.notesFor(options);
		note(
			`${accepted} of ${count(traces, "trace")} (${percent(share)}) score ${threshold} or more; the model saw ${count(embedded + added, "text")}`,
		);
		remarks.noteAssumed(note);
		remarks.warnOfDomain();
		remarks.warnOfNames(session.profiles);
		run.warnOfLosses(decided.report, "not decided", errors);
		const isEnough = minShare === undefined || share >= minShare;
		const gate = run.isMet(isEnough, `--min-share is ${percent(minShare)}`);
		return stop.exitCode({ errors, gate });
	});
};
