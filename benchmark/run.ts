/** Compares this package with the TypeScript way: node run.js [--quick] [--json FILE] [--record]. */

import { parseArgs } from "node:util";
import { Agreement, Disagreement } from "./agreement.js";
import { FALLBACK_CASE, FILES, isAvailable, LONG_CASE } from "./cases.js";
import { draw } from "./charts.js";
import { describeEnvironment, type Environment } from "./environment.js";
import { measureBare } from "./measure-bare.js";
import { measureCache } from "./measure-cache.js";
import { Contest } from "./measure-cases.js";
import { measureFile, measureFirstScore } from "./measure-processes.js";
import { measurePeaks, type Peaks, sharesOf } from "./peaks.js";
import { FULL, type Plan, QUICK } from "./plan.js";
import { recordFile, write } from "./record.js";
import { type Report, render } from "./report.js";
import { find, type Row, row } from "./rows.js";
import { availableSides, type Side } from "./sides.js";

type Measured = Pick<Report, "environment" | "rows" | "stores" | "shares">;

async function measure(
	plan: Plan,
	sides: readonly Side[],
	agreement: Agreement,
	peaks: Peaks | undefined,
	environment: Environment,
): Promise<Measured> {
	say("first score");
	const first = await measureFirstScore(sides, plan, agreement);
	environment.onnxRuntime.ours = first.libraryVersion ?? "unknown";
	const rows = first.rows;
	rows.push(...(await measureCases(plan, sides, agreement)));
	rows.push(...(await measureFiles(plan, sides, agreement)));
	say("without the model");
	rows.push(...(await measureBare(plan.bare, agreement)));
	const stores: Row[] = [];
	for (const cachePlan of plan.caches) {
		say(`${cachePlan.vectors} vectors`);
		stores.push(...(await measureCache(cachePlan, agreement)));
	}
	const complete = rows.filter((row) => Object.keys(row.values).length > 0);
	const shares = peaks ? sharesOf(peaks, rows, stores) : [];
	return { environment, rows: byCase(complete), stores, shares };
}

async function measureCases(
	plan: Plan,
	sides: readonly Side[],
	agreement: Agreement,
): Promise<Row[]> {
	const rows: Row[] = [];
	const contest = new Contest(sides, agreement);
	try {
		say("the same text again");
		const memo = await contest.measureMemo(plan.memo);
		for (const [name, casePlan] of Object.entries(plan.cases)) {
			if (!isAvailable(name)) continue;
			say(name);
			rows.push(...(await contest.measureCase(name, casePlan)));
		}
		return [...rows, timesOfLong(rows), memo];
	} finally {
		await contest.end();
	}
}

/** How many times longer a text takes of which the model sees only the beginning. */
function timesOfLong(rows: readonly Row[]): Row {
	const values = (name: string) => find(rows, name, "p50, ms")?.values;
	const short = values(FALLBACK_CASE) ?? {};
	const times = Object.entries(values(LONG_CASE) ?? {}).map(
		([side, time]) => [side, time / (short[side] ?? Number.NaN)] as const,
	);
	return row(LONG_CASE, "times that of 512 tokens", new Map(times));
}

async function measureFiles(
	plan: Plan,
	sides: readonly Side[],
	agreement: Agreement,
): Promise<Row[]> {
	const rows: Row[] = [];
	const [whole = FALLBACK_CASE, ...others] = FILES.filter(isAvailable);
	for (const filePlan of plan.fileRuns) {
		say(`${whole} from first to last, ${filePlan.inFlight} in flight`);
		rows.push(...(await measureFile(sides, whole, filePlan, agreement)));
	}
	for (const name of others) {
		say(`${name} from first to last`);
		// Too short a file for anything but its scores.
		const once = { inFlight: 1, repetitions: 1, metric: "memory" } as const;
		await measureFile(sides, name, once, agreement);
	}
	return rows;
}

/** The rows of a case one after the other. */
function byCase(rows: readonly Row[]): Row[] {
	const order = [...new Set(rows.map((row) => row.case))];
	return order.flatMap((name) => rows.filter((row) => row.case === name));
}

/** Prints progress to stderr; stdout is for the results. */
function say(what: string): void {
	const seconds = Math.round(performance.now() / 1000);
	console.error(`benchmark: ${what} (${seconds} s)`);
}

function readOptions() {
	try {
		const { values } = parseArgs({
			options: {
				quick: { type: "boolean" },
				json: { type: "string" },
				record: { type: "boolean" },
			},
		});
		if (values.quick && values.record) {
			throw new Error("--quick measures too little for --record");
		}
		return values;
	} catch (error) {
		console.error(`benchmark: ${(error as Error).message}`);
		process.exit(2);
	}
}

async function main(): Promise<void> {
	const { quick = false, json, record = false } = readOptions();
	const agreement = new Agreement();
	const { sides, missing } = await availableSides();
	for (const name of FILES.filter((name) => !isAvailable(name))) {
		missing.push(`There is no file with ${name} runs; they are left out.`);
	}
	const environment = describeEnvironment(sides);
	say("peaks");
	const peaks = measurePeaks();
	if (!peaks) missing.push("cargo bench failed or is missing: shares of peak are left out.");
	for (const sentence of missing) console.error(`benchmark: ${sentence}`);
	const plan = quick ? QUICK : FULL;
	const measured = await measure(plan, sides, agreement, peaks, environment);
	const differences = agreement.differences();
	const report: Report = { ...measured, quick, differences };
	console.log([...missing, render(report)].join("\n"));
	if (json !== undefined) write(json, report);
	if (record) {
		const file = recordFile(report.environment);
		write(file, report);
		for (const made of [file, ...draw(report)]) say(`wrote ${made}`);
	}
}

main().catch((error: Error) => {
	const what = error instanceof Disagreement ? "results differ: " : "";
	console.error(`benchmark: ${what}${error.message}`);
	process.exitCode = 1;
});
