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

const percentOf = (share, interval) => `${percent(share)}${between(interval, percent)}`;

/** Lines of cells; the first row is the head, the first column flush left. */
function table(rows) {
	const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
	const pad = (cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]));
	const [head, ...lines] = rows.map((row) => row.map(pad).join("  "));
	return [style("dim", head), ...lines].join("\n");
}

function domainTables({ domains, overall }) {
	const all = domains.length > 1 ? [...domains, { domain: "all", summary: overall }] : domains;
	const percents = overall.score.percentiles.map((each) => `${each.percent} %`);
	const thresholds = overall.accepted.map((each) => String(Number(each.threshold.toFixed(4))));
	const scores = [["scores", "runs", ...percents]];
	const shares = [["accepted by", ...thresholds]];
	for (const { domain, summary } of all) {
		const name = fit(domain, 24);
		const percentiles = summary.score.percentiles.map(({ value }) => value.toFixed(3));
		scores.push([name, String(summary.n), ...percentiles]);
		shares.push([name, ...summary.accepted.map(({ share }) => percent(share))]);
	}
	return [table(scores), [table(shares), ...domains.flatMap(notesOf)].join("\n")];
}

/** Formats the limitations of the scores of a domain. */
function notesOf({ domain, summary: { cutShare, constantDimensions } }) {
	const name = fit(domain, 20);
	return [
		constantDimensions.length > 0 &&
			`${name}: ${constantDimensions.join(" and ")} the same in all runs`,
		cutShare > 0 &&
			`${name}: the model saw only the beginning of ${percent(cutShare)} of the texts`,
	].filter(Boolean);
}

function thresholdText({ threshold, options }) {
	const { value, interval, share, accepted, precision } = threshold;
	const found = precision && percentOf(precision.precision, precision.interval);
	if (value === null) {
		const target = percent(options.target.precision);
		const head = `${style("bold", "no threshold")} reaches a precision of ${target}`;
		if (!precision) return head;
		return `${head}: at best, of those from ${precision.threshold.toFixed(4)} on ${found} are labelled positive`;
	}
	const head = `${style("bold", `threshold ${value}`)}${between(interval)}`;
	const lines = [`${head} accepts ${accepted}, ${percentOf(share.value, share.interval)}`];
	if (precision)
		lines.push(
			`  ${found} of them are labelled positive, ${percent(precision.recall)} of all positive ones`,
		);
	if (options.target.precision !== undefined)
		lines.push("  chosen and measured on the same runs: on new ones, precision can be lower");
	return lines.join("\n");
}

function labelText({ auc, positives, negatives, leakage }) {
	const head = `${count(positives, "positive label")}, ${negatives} negative: AUC ${estimated(auc)}`;
	if (!leakage.aucWithoutOutcome) return head;
	return `${head}\n  without success, which the score contains: AUC ${estimated(leakage.aucWithoutOutcome)}`;
}

const weightsOf = (weights) =>
	Object.entries(weights)
		.map(([name, value]) => `${name} ${value.toFixed(2)}`)
		.join(", ");

function fitText({ profile, current, result, withoutOutcome }) {
	const head = `${style("bold", fit(profile, 40))}: ${VERDICTS[result.outcome]}`;
	if (result.outcome === "refused")
		return `${head}: expected ${result.expected}, found ${result.found}`;
	return `${head}
  current  ${weightsOf(current)}${withoutOutcome ? " (normalised without the outcome)" : ""}
           AUC ${result.currentAuc.toFixed(3)}
  fitted   ${weightsOf(result.weights)}
           cross-validated AUC ${estimated(result.heldOutAuc)}, better by ${estimated(result.improvement)}`;
}

function calibrationText(calibration) {
	const { rows, threshold, labels, fits } = calibration;
	const groups = rows.ungrouped < rows.used ? ` in ${count(rows.groups, "group")}` : "";
	const excluded = rows.total - rows.used;
	const causes = `${rows.first} first ones, ${rows.uncompared} compared with nothing`;
	const without = excluded > 0 ? `; ${excluded} excluded: ${causes}` : "";
	const better = fits.filter(({ recommended }) => recommended !== null);
	// To paste into `new Scorer({ profiles })`.
	const profiles = Object.fromEntries(better.map((each) => [each.profile, each.recommended]));
	const parts = [
		`${count(rows.used, "run")}${groups}${without}`,
		...domainTables(calibration),
		threshold && thresholdText(calibration),
		labels && labelText(labels),
		...fits.map(fitText),
		better.length > 0 && JSON.stringify({ profiles }, null, 2),
	];
	return `${parts.filter(Boolean).join("\n\n")}\n`;
}

module.exports = { calibrationText };
