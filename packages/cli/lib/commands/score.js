/** kp-score score */
const { InputError, atLast } = require("../exit.js");
const { evaluate } = require("../engine.js");
const { openFile, show } = require("../output.js");
const { Summaries, summaryTable } = require("../summaries.js");
const { legendOf, rowTable } = require("../row-table.js");
const { Job } = require("../job.js");
const { openScorer } = require("../scorer.js");
const { evaluateRest, goOn, openRows } = require("../unfinished.js");
const { sourcesOf } = require("../sources.js");
const { Statistics } = require("../statistics.js");
const { count, duration, grouped, style, warn } = require("../terminal.js");

/** How many runs the memory had; empty if none. */
function knownText({ again }, { known, traces }) {
	if (known === 0) return "";
	const what = again ? "not added again" : "not scored; --again scores them";
	return `${grouped(known)} of ${grouped(traces + (again ? 0 : known))} scored before, or repeated here: ${what}`;
}

function summarise(job, statistics, remarks, ms) {
	const { options } = job;
	const { isText } = job.output;
	const { alike, scores, uncompared } = statistics;
	const isTable = isText && !options.by && scores.length > 0;
	const say = (text) => text && job.note(text);
	say(knownText(options, remarks));
	const selected = scores.length < remarks.traces ? `, ${grouped(scores.length)} selected` : "";
	const quantiles = statistics.quantiles.map((quantile) => quantile.join(" ")).join(", ");
	say(
		`${style("bold", count(remarks.traces, "trace"))} in ${duration(ms)}${selected}${quantiles && `: ${quantiles}`}`,
	);
	say(statistics.acceptedText(options.threshold));
	remarks.noteAssumed(isTable && !options.facts ? "? " : "");
	if (isTable) say(style("dim", legendOf(options)));
	// Only a table has asterisks to explain.
	const alone = `* ${uncompared} with a novelty of 0.5, because they were compared with nothing`;
	if (isTable && !options.facts && uncompared > 0) say(style("dim", alone));
	if (alike.length > 0) warn(`${alike.join(", ")}: the order comes from the other dimensions`);
	remarks.warnOfDomain();
}

async function writePage(file, rows, { job, profiles, remarks, statistics }) {
	const all = statistics.scores.length;
	const runs = rows.length < all ? `${grouped(rows.length)} of ${grouped(all)}` : grouped(all);
	const counts = [["Runs", runs], ...statistics.quantiles];
	const figures = counts.map((each) => [...each, ""]);
	const accepted = statistics.acceptedText(job.options.threshold);
	const notes = [knownText(job.options, remarks), accepted, remarks.assumedText].filter(Boolean);
	const { pageOf } = require("../page.js");
	if (rows.length > 0 || !file.isThere)
		await file.write(await pageOf(rows, { figures, notes, profiles }));
	const path = await file.commit();
	if (path) job.note(`page: ${path}`);
}

/** Throws an error, or a better one if the source that is no log has rows. */
async function refuseRows(error, { signal, sources }) {
	const { contentOf } = require("../rows.js");
	const found = ({ name, isStream }) => name === error.source && !isStream;
	const source = error.code === "UNKNOWN_FORMAT" && sources.find(found);
	const { rows } = source ? await contentOf(source, signal).catch(() => ({})) : {};
	if (!rows) throw error;
	throw new InputError(
		`${source.name}: it has rows that kp-score score wrote, not logs: kp-score explain, compare and calibrate take them`,
	);
}

const highestOf = (rows, top) => rows.sort((a, b) => b.score - a.score).slice(0, top);

module.exports = async function score(args, given) {
	const options = { assumeSuccess: "true", ...given };
	if (options.decide) return require("./decide.js")(args, options);
	const { by, html, threshold, minShare, memory, top } = options;
	if (minShare !== undefined && threshold === undefined)
		throw new InputError("--min-share needs --threshold: the share of runs that score how much?");
	const job = await Job.open(options, await sourcesOf(args[0]), openRows(args[0]));
	const { output } = job;
	const { unfinished } = output;
	const page = html && (await openFile(html, { signal: job.signal, hasPart: false }));
	const again = options.again === true;
	const { known, profiles, save, scorer } = await openScorer(job, { saved: true, again });
	const began = performance.now();
	const lineOf = rowTable(output, options);
	const statistics = new Statistics();
	const summaries = new Summaries(by);
	/** For a page, the rows; with `--top`, the candidates for the highest ones. */
	let kept = [];
	const add = (row) => {
		statistics.add(row);
		if (by) summaries.add(row);
		if (page || top !== undefined) kept.push(row);
		if (kept.length >= 2 * top) kept = highestOf(kept, top);
	};
	const take = async (row) => {
		if (!job.choice.has(row)) return;
		// Those that are there are counted.
		if (by || top !== undefined || (await show(output, row, lineOf))) add(row);
	};
	const isNeeded = minShare !== undefined || memory !== undefined || page !== undefined;
	const isShown = top !== undefined || by !== undefined || !output.isTerminal;
	await goOn(job, add);
	const isRest = known === "skip" && unfinished?.added.size > 0;
	const rows = isRest ? evaluateRest(scorer, job, unfinished) : evaluate(scorer, job, known);
	const scoring = job.each(rows, take, { isNeeded, isShown });
	const remarks = await scoring.catch((error) => refuseRows(error, job));
	const highest = highestOf(kept, top);
	if (top !== undefined) for (const row of highest) await show(output, row, lineOf);
	const summaryLine = summaryTable(output, options);
	for (const summary of summaries.all(threshold)) await show(output, summary, summaryLine);
	await job.commit();
	await save();
	const ms = performance.now() - began;
	if (page && !job.signal.aborted)
		await writePage(page, highest, { job, profiles, remarks, statistics });
	if (unfinished && !job.signal.aborted) atLast(() => unfinished.end());
	if (!output.isClosed || isNeeded) {
		summarise(job, statistics, remarks, ms);
		remarks.warnOfTexts(scorer);
		remarks.warnOfNames(profiles);
		remarks.warnOfLosses("not scored");
	}
	const saved = memory ? `; ${memory} has them` : "";
	job.endedEarly(`after ${count(remarks.traces, "trace")}${saved}`);
	const { share } = statistics.acceptedBy(threshold);
	const isAny = statistics.scores.length > 0;
	// What was scored before is not judged again.
	const isMet = isAny ? share >= minShare : remarks.known > 0 && !job.choice.isAsked;
	return job.exitCode(
		minShare === undefined || isMet,
		Statistics.gateText(isAny ? share : undefined, options),
	);
};
