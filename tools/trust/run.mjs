/**
 * Runs the robustness checks: npm run trust [-- [--short] [--only PART,PART]]
 *
 * Each part is a process of its own, so that the others run whatever one finds. At the end, a table
 * lists what was tried and found; the exit code is 1 if there was a finding.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fail } from "../lib/run.mjs";

/** The short mode, for CI: what needs only the stable compiler. */
const IN_SHORT = ["differential", "lifecycle", "load", "stores", "faults", "fuzz", "concurrency"];
const PARTS = [...IN_SHORT, "repeats", "coverage", "sanitizers", "mutants"];

const { short, only } = parseArgs({
	options: { short: { type: "boolean" }, only: { type: "string" } },
}).values;

const chosen = only?.split(",") ?? (short ? IN_SHORT : PARTS);
const unknown = chosen.find((part) => !PARTS.includes(part));
if (unknown) fail(`--only: expected some of ${PARTS.join(", ")}, got ${unknown}`);

/** The title and the rows of a part. */
function run(part) {
	const file = fileURLToPath(new URL(`${part}.mjs`, import.meta.url));
	const child = fork(file, short ? ["--short"] : []);
	let result;
	child.on("message", (message) => {
		result = message;
	});
	return new Promise((resolve) => {
		child.once("exit", (code, signal) => {
			if (code === 0 && result) return resolve(result);
			const found = `**a finding**, see above (${signal ?? `exit code ${code}`})`;
			resolve({
				title: part,
				failed: true,
				rows: [{ what: part, tried: "", found }],
			});
		});
	});
}

const table = ["| what | tried | found |", "| --- | --- | --- |"];
let failed = false;
for (const part of chosen) {
	console.log(`\ntrust: ${part}`);
	const began = Date.now();
	const result = await run(part);
	failed ||= result.failed === true;
	for (const { what, tried, found } of result.rows)
		table.push(`| ${result.title}: ${what} | ${tried} | ${found} |`);
	console.log(`trust: ${part}, ${Math.round((Date.now() - began) / 1000)} s`);
}
console.log(`\n${table.join("\n")}`);
process.exitCode = failed ? 1 : 0;
