/** A calibration as text. */
const { count, fit, percent, style } = require("./terminal.js");

const VERDICTS = {
	better: "fitted weights order the runs better",
	"no-better-than-current": "no better than the current profile",
	refused: "not fitted",
};

/** For example ` (0.612 to 0.744)`; empty without an interval. */
const between = (interval, show = (value) => value.toFixed(3)) =>
	interval ? ` (${show(interval.low)} to ${show(interval.high)})` : "";

const estimated = ({ value, interval }) => `${value.toFixed(3)}${between(interval)}`;

/** Lines of cells; the first column is flush left. */
function table(head, rows) {
	const all = [head, ...rows];
	const widths = head.map((_, column) => Math.max(...all.map((row) => row[column].length)));
	const lines = all.map((row) =>
		row
			.map((cell, column) =>
				column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
			)
			.join("  "),
	);
	return [style("dim", lines[0]), ...lines.slice(1)];
}

function domainTables({ domains, overall }) {
	const summaries = domains.map(({ domain, summary }) => [domain, summary]);
	if (domains.length > 1) summaries.push(["all", overall]);
	const { percentiles } = overall.score;
	return [
		...table(
			["scores", "runs", ...percentiles.map(({ percent: p }) => `${p} %`)],
			summaries.map(([name, { n, score }]) => [
				fit(name, 24),
				String(n),
				...score.percentiles.map(({ value }) => value.toFixed(3)),
			]),
		),
		"",
		...table(
			[
				"accepted by",
				...overall.accepted.map(({ threshold }) => Number(threshold.toFixed(4)).toString()),
			],
			summaries.map(([name, { accepted }]) => [
				fit(name, 24),
				...accepted.map(({ share }) => percent(share)),
			]),
		),
		...domains.flatMap(({ domain, summary }) => notesOf(domain, summary)),
	];
}

/** Formats the limitations of the scores of a domain. */
function notesOf(domain, { cutShare, constantDimensions }) {
	const notes = [];
	if (constantDimensions.length > 0)
		notes.push(`${fit(domain, 20)}: ${constantDimensions.join(" and ")} the same in all runs`);
	if (cutShare > 0)
		notes.push(
			`${fit(domain, 20)}: the model saw only the beginning of ${percent(cutShare)} of the texts`,
		);
	return notes;
}

function thresholdLines({ threshold, options }) {
	if (!threshold) return [];
	const { value, interval, share, accepted, precision } = threshold;
	if (value === null)
		return [
			"",
			`${style("bold", "no threshold")} reaches a precision of ${percent(options.target.precision)}${precision ? `: at best, of those from ${precision.threshold.toFixed(4)} on ${percent(precision.precision)}${between(precision.interval, percent)} are labelled positive` : ""}`,
		];
	const lines = [
		`${style("bold", `threshold ${value}`)}${between(interval)} accepts ${accepted}, ${percent(share.value)}${between(share.interval, percent)}`,
	];
	if (precision)
		lines.push(
			`  ${percent(precision.precision)}${between(precision.interval, percent)} of them are labelled positive, ${percent(precision.recall)} of all positive ones`,
		);
	if (options.target.precision !== undefined)
		lines.push("  chosen and measured on the same runs: on new ones, precision can be lower");
	return ["", ...lines];
}

function labelLines({ labels }) {
	if (!labels) return [];
	const { auc, positives, negatives, leakage } = labels;
	const lines = [
		`${count(positives, "positive label")}, ${negatives} negative: AUC ${estimated(auc)}`,
	];
	if (leakage.aucWithoutOutcome)
		lines.push(
			`  without success, which the score contains: AUC ${estimated(leakage.aucWithoutOutcome)}`,
		);
	return ["", ...lines];
}

const weightsOf = (weights) =>
	Object.entries(weights)
		.map(([name, value]) => `${name} ${value.toFixed(2)}`)
		.join(", ");

function fitLines({ fits }) {
	return fits.flatMap(({ profile, current, result, withoutOutcome }) => {
		const head = `${style("bold", fit(profile, 40))}: ${VERDICTS[result.outcome]}`;
		if (result.outcome === "refused")
			return ["", `${head}: expected ${result.expected}, found ${result.found}`];
		return [
			"",
			head,
			`  current  ${weightsOf(current)}${withoutOutcome ? " (normalised without the outcome)" : ""}`,
			`           AUC ${result.currentAuc.toFixed(3)}`,
			`  fitted   ${weightsOf(result.weights)}`,
			`           cross-validated AUC ${estimated(result.heldOutAuc)}, better by ${estimated(result.improvement)}`,
		];
	});
}

/** The better profiles, to paste into `new Scorer({ profiles })`. */
function profileLines({ fits }) {
	const better = fits.filter(({ recommended }) => recommended !== null);
	if (better.length === 0) return [];
	const profiles = Object.fromEntries(
		better.map(({ profile, recommended }) => [profile, recommended]),
	);
	return ["", JSON.stringify({ profiles }, null, 2)];
}

function calibrationText(calibration) {
	const { rows } = calibration;
	const excluded = rows.total - rows.used;
	return `${[
		`${count(rows.used, "run")}${rows.ungrouped < rows.used ? ` in ${count(rows.groups, "group")}` : ""}${excluded > 0 ? `; ${excluded} excluded: ${rows.first} first ones, ${rows.uncompared} compared with nothing` : ""}`,
		"",
		...domainTables(calibration),
		...thresholdLines(calibration),
		...labelLines(calibration),
		...fitLines(calibration),
		...profileLines(calibration),
	].join("\n")}\n`;
}

module.exports = { calibrationText };
