/** Rows of results, and tables of them. */

import { mapValues } from "./sides.mjs";
import { median, quartiles } from "./statistics.mjs";

/** The row of a case with a metric. */
export function find(rows, name, metric) {
	return rows.find((row) => row.case === name && row.metric === metric);
}

export const SIDE_PAIRS = [
	["exact", "typescript"],
	["fast", "typescript"],
];

export const STORE_PAIRS = [
	["ours", "typescript"],
	["ours", "usearch"],
];

export const SHARE_PAIRS = [["measured", "peak"]];

/** A row of one value for each side. */
export function row(name, metric, values, pairs = SIDE_PAIRS) {
	const ratios = {};
	for (const [first, second] of pairs) {
		const ratio = (values.get(first) ?? Number.NaN) / (values.get(second) ?? Number.NaN);
		if (!Number.isNaN(ratio)) ratios[`${first}/${second}`] = ratio;
	}
	return { case: name, metric, values: Object.fromEntries(values), ratios };
}

/** A row of medians, with quartiles. A side without any value is left out. */
export function medianRow(name, metric, values, pairs) {
	const some = [...values].filter(([, list]) => list.length > 0);
	const medians = new Map(some.map(([who, list]) => [who, median(list)]));
	const spread = some.map(([who, list]) => [who, quartiles(list)]);
	const measured = row(name, metric, medians, pairs);
	return { ...measured, quartiles: Object.fromEntries(spread) };
}

/** Of everything that each side did, the numbers that `values` finds, in one list. */
export function collect(done, values) {
	return mapValues(done, (items) => items.flatMap(values));
}

export const SIDE_COLUMNS = {
	values: {
		exact: "ours exact",
		fast: "ours fast",
		typescript: "ts",
		q8: "ts q8",
		transformers4: "ts 4",
	},
	pairs: SIDE_PAIRS,
};

export const SHARE_COLUMNS = { values: { measured: "measured", peak: "peak" }, pairs: SHARE_PAIRS };

export const STORE_COLUMNS = {
	values: { ours: "ours", typescript: "ts", usearch: "usearch" },
	pairs: STORE_PAIRS,
};

/** The rows as text in columns; numbers to the right. */
export function table(rows, columns) {
	const { values, pairs } = columns;
	const short = (key) => (key === "typescript" ? "ts" : key);
	const header = [
		"case",
		"metric",
		...Object.values(values),
		...pairs.map((pair) => pair.map(short).join("/")),
	];
	const cells = rows.map((row) => [
		row.case,
		row.metric,
		...Object.keys(values).map((key) => digits(row.values[key])),
		...pairs.map((pair) => ratio(row.ratios[pair.join("/")])),
	]);
	const widths = header.map((_, column) =>
		Math.max(...[header, ...cells].map((line) => line[column]?.length ?? 0)),
	);
	const rule = widths.map((width) => "-".repeat(width));
	const lines = [header, rule, ...cells].map((line) =>
		line
			.map((cell, column) => {
				const width = widths[column] ?? 0;
				return column < 2 ? cell.padEnd(width) : cell.padStart(width);
			})
			.join(" | "),
	);
	return lines.map((line) => line.trimEnd()).join("\n");
}

function ratio(value) {
	if (value === undefined) return "-";
	return value < 0.1 ? value.toFixed(3) : value.toFixed(2);
}

/** Three digits, but no fewer than those before the point. */
function digits(value) {
	if (value === undefined) return "-";
	if (value >= 100) return value.toFixed(0);
	return value.toFixed(value >= 10 ? 1 : 2);
}
