/** Rows as a table, line by line. */
const { DIMENSIONS, fit, style } = require("./terminal.js");

const SHORT = { "single-thought": "=0.1", "error-recovery": "+0.1", "low-tool-diversity": "−0.1" };

const COLUMNS = Object.values(DIMENSIONS).map(({ title, column }) => `${column} ${title}`);

const LEGEND = `${COLUMNS.join(" · ")}
rules +0.1 more than two recoveries, −0.1 a single tool, =0.1 a single thought · id: explain --id shows why`;

/** Shortens the ids that importers make, for `explain --id`. */
const shortId = (id) => id.replace(/^(kp:trace:[\da-f]{8})-[\da-f]{4}-8[\da-f-]{21}$/, "$1");

/** Returns a function that formats a row; the first line comes with the table head. */
function rowTable({ width }, { threshold }) {
	const hasThreshold = threshold !== undefined;
	/** The width of id and objective together. */
	const left = Math.max(width - (hasThreshold ? 52 : 50), 4);
	/** The width of the id, known from the first row. */
	let idColumns;

	function lineOf({ dimensions, id, objective, overrides, score, similarity }) {
		const isAccepted = !hasThreshold || score >= threshold;
		const mark = isAccepted ? style("green", "✓") : style("dim", "·");
		const value = score.toFixed(3);
		const two = (number, columns) => number.toFixed(2).padStart(columns);
		const rules = overrides.map((name) => SHORT[name] ?? name).join(" ");
		const cells = [
			`${hasThreshold ? `${mark} ` : ""}${isAccepted ? style("bold", value) : value}`,
			two(dimensions.complexity, 5),
			`${two(dimensions.novelty, 5)}${similarity === null ? "*" : " "}`,
			two(dimensions.toolDiversity, 4),
			two(dimensions.outcomeConfidence, 5),
			rules.padEnd(9),
			style("dim", fit(shortId(id ?? ""), idColumns).padEnd(idColumns)),
			fit(objective, Math.max(left - idColumns - 2, 0)),
		];
		return `${cells.join("  ")}\n`;
	}

	return (row) => {
		if (idColumns !== undefined) return lineOf(row);
		idColumns = Math.min(Math.max(shortId(row.id ?? "").length, 4), 36, left);
		const start = hasThreshold ? "  " : "";
		const head = `${start}score  compl  novel  tools  outc   rules      ${"id".padEnd(idColumns)}  objective`;
		return `${style("dim", head.slice(0, width - 1))}\n${lineOf(row)}`;
	};
}

module.exports = { LEGEND, rowTable };
