/** kp-score score --decide */
const { callWithAll, toJson } = require("../engine.js");
const { Hints } = require("../hints.js");
const { Output, isTable } = require("../output.js");
const run = require("../run.js");
const { Session } = require("../session.js");
const { sourcesInOrder } = require("../sources.js");
const { count, fit, percent, say, style } = require("../terminal.js");

/** The line of a decision: its score, or the bounds of that. */
function lineOf({ accepted, bounds, id, objective, score }, { width }) {
	const [least, greatest] = bounds.map((bound) => bound.toFixed(3));
	const found = score === null ? `${least} to ${greatest}` : score.toFixed(3);
	const mark = accepted ? style("green", "✓") : style("dim", "·");
	const name = style("dim", fit(id ?? "(no id)", 36).padEnd(36));
	return `${mark} ${found.padEnd(14)}  ${name}  ${fit(objective, Math.max(width - 56, 8))}\n`;
}

module.exports = async function decide([args], options) {
	const { memory, minShare } = options;
	const stop = new run.Stop();
	const imported = run.importOptions(options);
	const sources = await sourcesInOrder(args, imported, stop);
	const output = await Output.open(options.output);
	let session;
	try {
		session = await Session.open(options, { saved: true });
		const { scorer } = session;
		const threshold = options.threshold ?? scorer.status().threshold;
		const hints = await Hints.open(options);
		const isText = isTable(output, options);
		const call = (trace) => scorer.decide(trace, { threshold });
		const decided = callWithAll(call, sources, { ...imported, stop: stop.signal });
		let accepted = 0;
		let embedded = 0;
		let added = 0;
		let assumed = 0;
		let others = 0;
		const isNeeded = minShare !== undefined || memory;
		const context = { sources, options, stop, isShown: !output.isTerminal };
		const { traces, errors } = await run.each(decided, context, async (item) => {
			if (output.isClosed && !isNeeded) stop.end();
			if (item.error && isText) return say(style("red", item.error.message));
			if (item.error) return output.write(`${JSON.stringify(toJson(item))}\n`);
			const { trace, provenance, report: decision } = item;
			hints.add(trace.metadata.task_domain);
			const { source, successFrom, domainFrom } = provenance;
			if (successFrom === "assumed") assumed += 1;
			if (options.domain !== undefined && domainFrom === "own") others += 1;
			if (decision.accepted) accepted += 1;
			// It is embedded after its answer.
			if (decision.accepted && decision.score === null) added += 1;
			if (decision.score !== null && decision.novelty.source !== "no-embedder") embedded += 1;
			const { id = null, task } = trace;
			const row = { source, id, objective: task.objective, successFrom, ...decision };
			await output.write(isText ? lineOf(row, output) : `${JSON.stringify(row)}\n`);
		});
		await run.commit(output, options);
		if (added > 0) await scorer.warmup();
		await session.save();
		const share = traces === 0 ? 0 : accepted / traces;
		const note = run.notesFor(options);
		note(
			`${accepted} of ${count(traces, "trace")} (${percent(share)}) score ${threshold} or more; the model saw ${count(embedded + added, "text")}`,
		);
		run.noteAssumed(assumed, traces, options, note);
		run.warnOfDomain(others, options);
		hints.warn();
		run.warnOfLosses(decided.report, "not decided", errors);
		const gate = minShare === undefined || share >= minShare;
		if (!gate) say(`${style("red", "gate not met:")} --min-share is ${percent(minShare)}`);
		return stop.exitCode({ errors, gate });
	} finally {
		await output.discard();
		await session?.close();
	}
};
