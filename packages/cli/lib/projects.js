/** Sums of rows by project. */
const { factOf, projectOf, tokensOf } = require("./facts.js");
const { brief, short } = require("./row-table.js");
const { Statistics } = require("./statistics.js");
const { fit, style } = require("./terminal.js");

/** The facts that are added up, by their names in a summary. */
const SUMS = ["activeMs", "tokens", "calls", "failed", "refused"];

class Projects {
	#projects = new Map();

	add(row) {
		const name = projectOf(row);
		const { statistics, sums } = this.#projects.get(name) ?? {
			statistics: new Statistics(),
			sums: {},
		};
		this.#projects.set(name, { statistics, sums });
		statistics.add(row);
		for (const fact of SUMS) {
			const value = fact === "tokens" ? tokensOf(row) : factOf(fact, row);
			// Of the runs that have it.
			sums[fact] = value === null ? (sums[fact] ?? null) : (sums[fact] ?? 0) + value;
		}
	}

	/** One summary a project, that with the most runs first. */
	summaries(threshold) {
		const all = [...this.#projects].map(([project, { statistics, sums }]) => {
			const [median, highest] = statistics.quantilesAt(0.5, 1);
			const { accepted } = threshold === undefined ? {} : statistics.acceptedBy(threshold);
			const runs = statistics.scores.length;
			return { project, runs, median, highest, accepted, ...sums };
		});
		return all.sort((a, b) => b.runs - a.runs);
	}
}

/** Returns a function that formats a summary; the first line comes with the table head. */
function projectTable({ width }, { threshold }) {
	const hasThreshold = threshold !== undefined;
	const columns = Math.max(width - (hasThreshold ? 72 : 62), 12);
	const accepted = hasThreshold ? "  accepted" : "";
	const start = `${"project".padEnd(columns)}    runs  median  highest${accepted}  active  tokens   calls  failed  refused`;
	let head = `${style("dim", start)}\n`;
	return (summary) => {
		const { tokens, calls, failed } = summary;
		const cells = [
			fit(summary.project ?? "(unknown)", columns).padEnd(columns),
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

module.exports = { Projects, projectTable };
