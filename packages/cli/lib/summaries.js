/** Sums of rows by project, or by week. */
const { factOf, projectOf, timeOf, tokensOf } = require("./facts.js");
const { brief, short } = require("./row-table.js");
const { Statistics } = require("./statistics.js");
const { cell, style } = require("./terminal.js");

/** The facts that are added up, by their names in a summary. */
const SUMS = ["activeMs", "tokens", "calls", "failed", "refused"];

const DAY_MS = 86_400_000;

/** The Monday of the week (UTC) in which a run began; null if unknown. */
function weekOf(row) {
	const time = timeOf(row);
	if (time === null) return null;
	const day = Math.floor(time / DAY_MS);
	// The first day of 1970 was a Thursday.
	return new Date((day - ((day + 3) % 7)) * DAY_MS).toISOString().slice(0, 10);
}

const KEYS = { project: projectOf, week: weekOf };

class Summaries {
	#by;
	#groups = new Map();

	/** @param {"project" | "week"} by */
	constructor(by) {
		this.#by = by;
	}

	add(row) {
		const name = KEYS[this.#by](row);
		const { statistics, sums } = this.#groups.get(name) ?? {
			statistics: new Statistics(),
			sums: {},
		};
		this.#groups.set(name, { statistics, sums });
		statistics.add(row);
		for (const fact of SUMS) {
			const value = fact === "tokens" ? tokensOf(row) : factOf(fact, row);
			// Of the runs that have it.
			sums[fact] = value === null ? (sums[fact] ?? null) : (sums[fact] ?? 0) + value;
		}
	}

	/** One summary a project, that with the most runs first; or one a week, in order. */
	all(threshold) {
		const by = this.#by;
		const all = [...this.#groups].map(([name, { statistics, sums }]) => {
			const [median, highest] = statistics.quantilesAt(0.5, 1);
			const { accepted } = threshold === undefined ? {} : statistics.acceptedBy(threshold);
			const runs = statistics.scores.length;
			return { [by]: name, runs, median, highest, accepted, ...sums };
		});
		return all.sort(
			by === "week"
				? (a, b) => ((a.week ?? "") < (b.week ?? "") ? -1 : 1)
				: (a, b) => b.runs - a.runs,
		);
	}
}

/** Returns a function that formats a summary; the first line comes with the table head. */
function summaryTable({ width }, { by, threshold }) {
	const hasThreshold = threshold !== undefined;
	const columns = Math.max(width - (hasThreshold ? 72 : 62), 12);
	const accepted = hasThreshold ? "  accepted" : "";
	const start = `${`${by}`.padEnd(columns)}    runs  median  highest${accepted}  active  tokens   calls  failed  refused`;
	let head = `${style("dim", start)}\n`;
	return (summary) => {
		const { tokens, calls, failed } = summary;
		const cells = [
			cell(summary[by] ?? "(unknown)", columns),
			short(summary.runs).padStart(6),
			summary.median.toFixed(3).padStart(6),
			summary.highest.toFixed(3).padStart(7),
			...(hasThreshold ? [short(summary.accepted).padStart(8)] : []),
			brief(summary.activeMs).padStart(6),
			...[tokens, calls, failed].map((sum) => short(sum).padStart(6)),
			short(summary.refused).padStart(7),
		];
		const line = `${head}${cells.join("  ")}\n`;
		head = "";
		return line;
	};
}

module.exports = { Summaries, summaryTable };
