import { type Pairs, type Row, SHARE_PAIRS, SIDE_PAIRS, STORE_PAIRS } from "./rows.js";

/** Which values and ratios a table shows, and under which names. */
export interface Columns {
	/** The key of the values, and the name. */
	values: Readonly<Record<string, string>>;
	pairs: Pairs;
}

export const SIDE_COLUMNS: Columns = {
	values: {
		exact: "ours exact",
		fast: "ours fast",
		typescript: "ts",
		q8: "ts q8",
		transformers4: "ts 4",
	},
	pairs: SIDE_PAIRS,
};

export const SHARE_COLUMNS: Columns = {
	values: { measured: "measured", peak: "peak" },
	pairs: SHARE_PAIRS,
};

export const STORE_COLUMNS: Columns = {
	values: {
		ours: "ours",
		typescript: "ts",
		orama: "orama",
		usearch: "usearch",
	},
	pairs: STORE_PAIRS,
};

/** The rows as text in columns; numbers to the right. */
export function table(rows: readonly Row[], columns: Columns): string {
	const { values, pairs } = columns;
	const short = (key: string) => (key === "typescript" ? "ts" : key);
	const header = [
		...["case", "metric", ...Object.values(values)],
		...pairs.map((pair) => pair.map(short).join("/")),
	];
	const cells = rows.map((row) => [
		...[row.case, row.metric],
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

function ratio(value: number | undefined): string {
	if (value === undefined) return "-";
	return value < 0.1 ? value.toFixed(3) : value.toFixed(2);
}

/** Three digits, but no fewer than those before the point. */
function digits(value: number | undefined): string {
	if (value === undefined) return "-";
	if (value >= 100) return value.toFixed(0);
	return value.toFixed(value >= 10 ? 1 : 2);
}
