/** Where finished measurements are kept. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Environment } from "./environment.js";
import { RECORD_FOLDER } from "./paths.js";
import type { Report } from "./report.js";

/** The name of a record: the day, the processor without its decoration, the cores. */
export function recordName(environment: Environment): string {
	const { cpu, cores, date } = environment;
	const words = cpu
		.replace(/\((R|TM)\)|\bCPU\b|\bProcessor\b|@.*$/gi, " ")
		.toLowerCase()
		.match(/[a-z0-9]+/g);
	const day = date.slice(0, 10);
	return [day, ...(words ?? ["unknown"]), cores, "cores"].join("-");
}

/** Writes a report as JSON. */
export function write(file: string, report: Report): void {
	mkdirSync(path.dirname(file), { recursive: true });
	writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** The file of a new record. */
export function recordFile(environment: Environment): string {
	return path.join(RECORD_FOLDER, `${recordName(environment)}.json`);
}

/** The newest record. */
export function latestRecord(): string {
	const names = readdirSync(RECORD_FOLDER)
		.filter((name) => name.endsWith(".json"))
		.sort();
	const latest = names.at(-1);
	if (latest === undefined) throw new Error(`${RECORD_FOLDER} has no record`);
	return path.join(RECORD_FOLDER, latest);
}

/** Reads a record back. */
export function read(file: string): Report {
	const report = JSON.parse(readFileSync(file, "utf8"));
	if (!Array.isArray(report.stores)) {
		throw new Error(`${file} was written by another version of the benchmark`);
	}
	return report;
}
