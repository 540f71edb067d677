/** The report as text, and the records of reports. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { RECORD_FOLDER } from "./paths.mjs";
import { SHARE_COLUMNS, SIDE_COLUMNS, STORE_COLUMNS, table } from "./results.mjs";

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

/** The lines that say where the numbers come from. */
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

/** The name of a record: the day, the processor without its decoration, the cores. */
export function recordName(environment) {
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
