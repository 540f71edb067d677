/** Rows as a table, line by line. */
const { DIMENSIONS, fit, style } = require("./terminal.js");

const SHORT = { "single-thought": "=0.1", "error-recovery": "+0.1", "low-tool-diversity": "−0.1" };

const COLUMNS = Object.values(DIMENSIONS).map(({ title, column }) => `${column} ${title}`);

const LEGEND = `${COLUMNS.join(" · ")}
rules +0.1 more than two recoveries, −0.1 a single tool, =0.1 a single thought · id: explain --id shows why`;

/** Below this width of the terminal, dimensions and rules are left out. */
const NARROW = 72;

/** What ids of importers begin with; `explain --id` takes what follows. */
const PREFIX = "kp:trace:";

/** Shortens the ids that importers make, for `explain --id`. */
const shortId = (id) =>
	(id ?? "").replace(PREFIX, "").replace(/^([\da-f]{8})-[\da-f]{4}-8[\da-f-]{21}$/, "$1");

/** Returns a function that formats a row; the first line comes with the table head. */
function rowTable({ width }, { threshold }) {
	const hasThreshold = threshold !== undefined;
	const isNarrow = width < NARROW;
	/** The width of id and objective together. */
	const left = width - (hasThreshold ? 2 : 0) - (isNarrow ? 10 : 52);
	/** The width of the id, known from the first row. */
	let idColumns;

	function lineOf({ dimensions, id, objective, overrides, score, similarity, successFrom }) {
		const isAccepted = !hasThreshold || score >= threshold;
		const mark = isAccepted ? style("green", "✓") : style("dim", "·");
		const value = score.toFixed(3);
		const two = (number, columns) => number.toFixed(2).padStart(columns);
		const rules = overrides.map((name) => SHORT[name] ?? name).join(" ");
		const parts = [
			two(dimensions.complexity, 5),
			`${two(dimensions.novelty, 5)}${similarity === null ? "*" : " "}`,
			two(dimensions.toolDiversity, 4),
			`${two(dimensions.outcomeConfidence, 4)}${successFrom === "assumed" ? "?" : " "}`,
			rules.padEnd(10),
		];
		const cells = [
			`${hasThreshold ? `${mark} ` : ""}${isAccepted ? style("bold", value) : value}`,
			...(isNarrow ? [] : parts),
			style("dim", fit(shortId(id), idColumns).padEnd(idColumns)),
			fit(objective ?? "", left - idColumns),
		];
		return `${cells.join("  ")}\n`;
	}

	return (row) => {
		if (idColumns !== undefined) return lineOf(row);
		idColumns = Math.min(Math.max(shortId(row.id).length, 4), Math.max(left >> 1, 8), 36);
		const start = hasThreshold ? "  " : "";
		const names = isNarrow ? "" : "compl  novel   tools  outc   rules       ";
		const head = `${start}score  ${names}${"id".padEnd(idColumns)}  objective`;
		return `${style("dim", head)}\n${lineOf(row)}`;
	};
}

module.exports = { LEGEND, PREFIX, rowTable, shortId };
