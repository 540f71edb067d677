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

/** The number or numbers that `values` finds in each result of each side, in one list for each. */
export function collect(done, values) {
	return mapValues(done, (items) => items.flatMap(values));
}

/** The columns of a table: names of sides, and the ratios that are shown. */
const SIDE_COLUMNS = {
	values: {
		exact: "ours exact",
		fast: "ours fast",
		typescript: "ts",
	},
	ratios: ["exact/typescript", "fast/typescript"],
};

const SHARE_COLUMNS = {
	values: { measured: "measured", peak: "peak" },
	ratios: ["measured/peak"],
};

const STORE_COLUMNS = {
	values: { ours: "ours", typescript: "ts", usearch: "usearch" },
	ratios: ["ours/typescript", "ours/usearch"],
};

/** The rows as text in columns; numbers to the right. */
function table(rows, { values, ratios }) {
	const shortened = ratios.map((ratio) => ratio.replace("typescript", "ts"));
	const header = ["case", "metric", ...Object.values(values), ...shortened];
	const cells = rows.map((row) => [
		row.case,
		row.metric,
		...Object.keys(values).map((key) => digits(row.values[key])),
		...ratios.map((ratio) => quotient(...ratio.split("/").map((key) => row.values[key]))),
	]);
	const widths = header.map((_, column) =>
		Math.max(...[header, ...cells].map((line) => line[column].length)),
	);
	const rule = widths.map((width) => "-".repeat(width));
	const padded = (cell, column) =>
		column < 2 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]);
	const lines = [header, rule, ...cells].map((line) => line.map(padded).join(" | ").trimEnd());
	return lines.join("\n");
}

function quotient(first, second) {
	const value = first / second;
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

/** The file of a new record, named by the day, the processor without its decoration, and the cores. */
export function recordFile({ cpu, cores, date }) {
	const words = cpu
		.replace(/\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*$/gi, " ")
		.toLowerCase()
		.match(/[a-z0-9]+/g);
	const name = [date.slice(0, 10), ...(words ?? ["unknown"]), cores, "cores"].join("-");
	return path.join(RECORD_FOLDER, `${name}.json`);
}

/** Writes a report as JSON. */
export function write(file, report) {
	mkdirSync(path.dirname(file), { recursive: true });
	writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** The newest record. */
export function latestRecord() {
	const names = readdirSync(RECORD_FOLDER).filter((name) => name.endsWith(".json"));
	return path.join(RECORD_FOLDER, names.sort().at(-1));
}

/** Reads a record back. */
export function read(file) {
	const report = JSON.parse(readFileSync(file, "utf8"));
	if (!Array.isArray(report.stores)) {
		throw new Error(`${file} was written by another version of the benchmark`);
	}
	return report;
}
