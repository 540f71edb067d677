/** Rows of results, the report as text, and the records of reports. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./sides.mjs";
import { median, quartiles } from "./statistics.mjs";

/** The row of a case with a metric. */
export function find(rows, name, metric) {
	return rows.find((row) => row.case === name && row.metric === metric);
}

/** Maps the values. */
export function mapValues(values, change) {
	return Object.fromEntries(
		Object.entries(values).map(([side, value]) => [side, change(value, side)]),
	);
}

/** A row of medians, with quartiles; sides without values are left out. */
export function medianRow(name, metric, values) {
	const some = Object.fromEntries(Object.entries(values).filter(([, list]) => list.length > 0));
	const medians = mapValues(some, median);
	return { case: name, metric, values: medians, quartiles: mapValues(some, quartiles) };
}

/** The numbers that `values` finds in all results of each side, in one list. */
export function collect(done, values) {
	return mapValues(done, (items) => items.flatMap(values));
}

/** The columns of a table: names of sides, and the pairs whose ratios are shown. */
const SIDE_COLUMNS = {
	values: {
		exact: "ours exact",
		fast: "ours fast",
		typescript: "ts",
		q8: "ts q8",
		transformers4: "ts 4",
	},
	pairs: [
		["exact", "typescript"],
		["fast", "typescript"],
	],
};

const SHARE_COLUMNS = {
	values: { measured: "measured", peak: "peak" },
	pairs: [["measured", "peak"]],
};

const STORE_COLUMNS = {
	values: { ours: "ours", typescript: "ts", usearch: "usearch" },
	pairs: [
		["ours", "typescript"],
		["ours", "usearch"],
	],
};

/** The rows as text in columns; numbers to the right. */
function table(rows, columns) {
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
		...pairs.map(([first, second]) => ratio(row.values[first] / row.values[second])),
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
	if (Number.isNaN(value)) return "-";
	return value < 0.1 ? value.toFixed(3) : value.toFixed(2);
}

/** Three significant digits, but at least those before the point. */
function digits(value) {
	if (value === undefined) return "-";
	if (value >= 100) return value.toFixed(0);
	return value.toFixed(value >= 10 ? 1 : 2);
}

const NOTE =
	"Medians, and their ratios. (+): greater is better. loop: event-loop delay, with the timer's own 1 ms.";

/** The whole report as text. */
export function render(report) {
	return [
		describe(report.environment),
		`${table(report.rows, SIDE_COLUMNS)}\n${NOTE}`,
		`vector stores, 384 dimensions\n${table(report.stores, STORE_COLUMNS)}`,
		`shares of peak\n${table(report.shares, SHARE_COLUMNS)}`,
		differences(report.differences),
	].join("\n\n");
}

/** The lines about the machine and the versions. */
function describe(environment) {
	const list = (versions) =>
		Object.entries(versions)
			.map((entry) => entry.join(" "))
			.join(", ");
	return [
		`${environment.date}, ${environment.system}, Node.js ${environment.node}`,
		`${environment.cpu} (${environment.registers}), ${environment.cores} cores, ${environment.memoryGB} GB, load ${environment.load.toFixed(2)} before the start`,
		`ONNX Runtime: ${list(environment.onnxRuntime)}; ${list(environment.packages)}`,
	].join("\n");
}

/** The greatest differences between results, a line each. */
function differences(found) {
	const lines = Object.entries(found).map(
		([what, difference]) => `  ${what}: ${difference.toExponential(1)}`,
	);
	return ["greatest difference between two results", ...lines].join("\n");
}

/** Finished measurements and their charts. */
export const RECORD_FOLDER = path.join(ROOT, "benchmark/record");

/** The name of a record: the day, the processor without its decoration, the cores. */
function recordName(environment) {
	const { cpu, cores, date } = environment;
	const words = cpu
		.replace(/\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*$/gi, " ")
		.toLowerCase()
		.match(/[a-z0-9]+/g);
	const day = date.slice(0, 10);
	return [day, ...(words ?? ["unknown"]), cores, "cores"].join("-");
}

/** Writes a report as JSON. */
export function write(file, report) {
	mkdirSync(path.dirname(file), { recursive: true });
	writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** The file of a new record. */
export function recordFile(environment) {
	return path.join(RECORD_FOLDER, `${recordName(environment)}.json`);
}

/** The newest record. */
export function latestRecord() {
	const names = readdirSync(RECORD_FOLDER)
		.filter((name) => name.endsWith(".json"))
		.sort();
	const latest = names.at(-1);
	if (latest === undefined) throw new Error(`${RECORD_FOLDER} has no record`);
	return path.join(RECORD_FOLDER, latest);
}

/** Reads a record back. */
export function read(file) {
	const report = JSON.parse(readFileSync(file, "utf8"));
	if (!Array.isArray(report.stores)) {
		throw new Error(`${file} was written by another version of the benchmark`);
	}
	return report;
}
