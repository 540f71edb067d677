/** Compares this package with the TypeScript way: node run.js [--quick] [--json FILE]. */

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Agreement, Disagreement } from "./agreement.js";
import { availableCases, FALLBACK_CASE, FILES } from "./cases.js";
import { Child } from "./child.js";
import { describeEnvironment } from "./environment.js";
import { measureCase } from "./measure-cases.js";
import { measureFile, measureFirstScore } from "./measure-processes.js";
import { FULL, type Plan, QUICK } from "./plan.js";
import { describe, differences, table } from "./report.js";
import { bySide, type Row } from "./rows.js";

async function measure(plan: Plan, agreement: Agreement) {
	const rows: Row[] = [];
	const environment = describeEnvironment();
	say("first score");
	const first = await measureFirstScore(plan.firstScores, agreement);
	rows.push(first.row);
	environment.onnxRuntime.ours = first.libraryVersion ?? "unknown";

	const cases = availableCases();
	const children = bySide((side) => new Child("batch-process.js", [side]));
	try {
		for (const [name, casePlan] of Object.entries(plan.cases)) {
			if (!cases.includes(name)) continue;
			say(name);
			rows.push(...(await measureCase(name, casePlan, children, agreement)));
		}
	} finally {
		await Promise.all([children.ours.end(), children.typescript.end()]);
	}

	const files = FILES.filter((name) => cases.includes(name));
	const [whole = FALLBACK_CASE, ...others] = files;
	for (const filePlan of plan.fileRuns) {
		say(`${whole} from first to last, ${filePlan.inFlight} in flight`);
		rows.push(...(await measureFile(whole, filePlan, agreement)));
	}
	for (const name of others) {
		say(`${name} from first to last`);
		// Too short a file for anything but its scores.
		await measureFile(name, { inFlight: 1, repetitions: 1 }, agreement);
	}
	const missing = FILES.filter((name) => !cases.includes(name));
	return { environment, rows: byCase(rows), missing };
}

/** The rows of a case one after the other. */
function byCase(rows: readonly Row[]): Row[] {
	const order = [...new Set(rows.map((row) => row.case))];
	return order.flatMap((name) => rows.filter((row) => row.case === name));
}

/** Tells on stderr what is being done; stdout is for the results. */
function say(what: string): void {
	const seconds = Math.round(performance.now() / 1000);
	console.error(`benchmark: ${what} (${seconds} s)`);
}

function readOptions() {
	try {
		return parseArgs({
			options: { quick: { type: "boolean" }, json: { type: "string" } },
		}).values;
	} catch (error) {
		console.error(`benchmark: ${(error as Error).message}`);
		process.exit(2);
	}
}

async function main(): Promise<void> {
	const { quick = false, json } = readOptions();
	const agreement = new Agreement();
	const plan = quick ? QUICK : FULL;
	const { environment, rows, missing } = await measure(plan, agreement);
	for (const name of missing) {
		console.log(`There is no file with ${name} runs; they are left out.\n`);
	}
	console.log(`${describe(environment)}\n`);
	console.log(`${table(rows)}\n`);
	console.log(differences(agreement.differences()));
	if (json !== undefined) {
		const differences = agreement.differences();
		const content = { ...environment, quick, differences, rows };
		writeFileSync(json, `${JSON.stringify(content, null, 2)}\n`);
	}
}

main().catch((error: Error) => {
	const what = error instanceof Disagreement ? "scores differ: " : "";
	console.error(`benchmark: ${what}${error.message}`);
	process.exitCode = 1;
});
