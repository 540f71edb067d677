/** Rows as a table, line by line. */
const { dateOf, factOf, projectOf, tokensOf } = require("./facts.js");
const { DIMENSIONS, cell, fit, plain, style, widthOf } = require("./terminal.js");

const SHORT = { "single-thought": "=0.1", "error-recovery": "+0.1", "low-tool-diversity": "−0.1" };

const COLUMNS = Object.values(DIMENSIONS).map(({ title, column }) => `${column} ${title}`);

const ID = "id: explain --id shows why";

const KEPT = "cover: coverage up to this run · for: how many runs it stands for\n";

const legendOf = ({ facts, isKept = false }) =>
	(isKept ? KEPT : "") +
	(facts
		? `active without pauses of more than 10 minutes · tokens without those from a cache · ${ID}`
		: `${COLUMNS.join(" · ")}
rules +0.1 more than two recoveries, −0.1 a single tool, =0.1 a single thought · ${ID}`);

/** Such as `950`, `12k` or `3.4M`; a dash if unknown. */
function short(n) {
	if (n === null) return "–";
	const [unit, name] = n < 999.5 ? [1, ""] : n < 999_500 ? [1e3, "k"] : [1e6, "M"];
	return `${(n / unit).toFixed(unit > 1 && n < 9.95 * unit ? 1 : 0)}${name}`;
}

/** Such as `40 s`, `12 min` or `3.2 h`; a dash if unknown. */
function brief(ms) {
	if (ms === null) return "–";
	if (ms < 59_500) return `${(ms / 1000).toFixed(0)} s`;
	const minutes = Math.round(ms / 60_000);
	return minutes < 60 ? `${minutes} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

const two = (number, columns) => number.toFixed(2).padStart(columns);

function scoreCells({ dimensions, overrides, similarity, successFrom }) {
	const rules = overrides.map((name) => SHORT[name] ?? name).join(" ");
	return [
		two(dimensions.complexity, 5),
		`${two(dimensions.novelty, 5)}${similarity === null ? "*" : " "}`,
		two(dimensions.toolDiversity, 4),
		`${two(dimensions.outcomeConfidence, 4)}${successFrom === "assumed" ? "?" : " "}`,
		rules.padEnd(10),
	];
}

function factCells(row) {
	return [
		cell(projectOf(row) ?? "–", 10),
		(dateOf(row) ?? "–").padEnd(10),
		brief(factOf("activeMs", row)).padStart(6),
		short(tokensOf(row)).padStart(6),
		short(factOf("failed", row)).padStart(6),
		short(factOf("refused", row)).padStart(7),
	];
}

/** The cells between score and id: their head, their width with the score, and the least width that they need. */
const SCORES = {
	head: "compl  novel   tools  outc   rules       ",
	taken: 52,
	least: 72,
	cellsOf: scoreCells,
};
const FACTS = {
	head: "project     date        active  tokens  failed  refused  ",
	taken: 69,
	least: 80,
	cellsOf: factCells,
};

/** The columns with those of a set before them. */
const keptWith = ({ head, taken, least, cellsOf }) => ({
	head: `cover    for  ${head}`,
	taken: taken + 14,
	least: least + 14,
	cellsOf: (row) => [
		`${(100 * row.coverage).toFixed(0)}%`.padStart(5),
		short(row.standsFor).padStart(5),
		...cellsOf(row),
	],
});

/** What ids of importers begin with; `explain --id` takes what follows. */
const PREFIX = "kp:trace:";

/** Shortens the ids that importers make, for `explain --id`. */
const shortId = (id) =>
	(id ?? "").replace(PREFIX, "").replace(/^([\da-f]{8})-[\da-f]{4}-8[\da-f-]{21}$/, "$1");

/** Returns a function that fits ids into a column, except where two would look alike. */
function idCells() {
	const before = new Set();
	return (id, columns) => {
		const shown = cell(id, columns);
		if (before.has(shown)) return plain(id).padEnd(columns);
		before.add(shown);
		return shown;
	};
}

/** Returns a function that formats a row; the first line comes with the table head. */
function rowTable({ width }, { threshold, facts, isKept = false }) {
	const columns = facts ? FACTS : SCORES;
	const middle = isKept ? keptWith(columns) : columns;
	const hasThreshold = threshold !== undefined;
	const isNarrow = width < middle.least;
	/** The width of id and objective together. */
	const left = width - (hasThreshold ? 2 : 0) - (isNarrow ? 10 : middle.taken);
	/** The width of the id, known from the first row. */
	let idColumns;
	const idCell = idCells();

	function lineOf(row) {
		const { id, objective, score } = row;
		const isAccepted = !hasThreshold || score >= threshold;
		const mark = isAccepted ? style("green", "✓") : style("dim", "·");
		const value = score.toFixed(3);
		const cells = [
			`${hasThreshold ? `${mark} ` : ""}${isAccepted ? style("bold", value) : value}`,
			...(isNarrow ? [] : middle.cellsOf(row)),
			style("dim", idCell(shortId(id), idColumns)),
			fit(objective ?? "", left - idColumns),
		];
		return `${cells.join("  ")}\n`;
	}

	return (row) => {
		if (idColumns !== undefined) return lineOf(row);
		idColumns = Math.min(Math.max(widthOf(plain(shortId(row.id))), 4), Math.max(left >> 1, 8), 36);
		const start = hasThreshold ? "  " : "";
		const names = isNarrow ? "" : middle.head;
		const head = `${start}score  ${names}${"id".padEnd(idColumns)}  objective`;
		return `${style("dim", head)}\n${lineOf(row)}`;
	};
}

module.exports = { PREFIX, brief, legendOf, rowTable, short, shortId };
