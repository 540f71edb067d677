/**
 * Tries to make the engine crash, leak, hang or lie: npm run trust [-- [--short] [--only PART,PART]]
 *
 * Each part has a process of its own. What one finds does not keep the others from running; the end
 * is a table of what was tried and found, and exit code 1 if anything was.
 */
import { fork } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fail, root } from "../scripts/lib/run.mjs";

/** What the short mode has, for CI: nothing that needs a compiler other than the stable one. */
const IN_SHORT = [
	...["differential", "lifecycle", "load", "faults", "leaks", "fuzz"],
];
const PARTS = [
	...IN_SHORT,
	...["coverage", "concurrency", "sanitizers", "mutants"],
];

const { short, only } = parseArgs({
	options: { short: { type: "boolean" }, only: { type: "string" } },
}).values;

const chosen = only?.split(",") ?? (short ? IN_SHORT : PARTS);
const unknown = chosen.find((part) => !PARTS.includes(part));
if (unknown)
	fail(`--only: expected some of ${PARTS.join(", ")}, got ${unknown}`);

/** The title and the rows of a part, or what it has found. */
function run(part) {
	const file = join(root, "trust", `${part}.mjs`);
	const child = fork(file, short ? ["--short"] : []);
	let told;
	child.on("message", (message) => {
		told = message;
	});
	return new Promise((resolve) => {
		child.once("exit", (code, signal) => {
			if (code === 0 && told) return resolve(told);
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
