/**
 * Compares this package with TypeScript: node run.mjs [--quick] [--json FILE] [--record] Draws the
 * charts of a record, by default the newest: node run.mjs --charts [RECORD]
 */

import { parseArgs } from "node:util";
import { FALLBACK_CASE, FILES, FULL, isAvailable, LONG_CASE, QUICK } from "./cases.mjs";
import { draw } from "./charts.mjs";
import { Contest, measureCache, measureFile, measureFirstScore } from "./measure.mjs";
import { measurePeaks, sharesOf } from "./peaks.mjs";
import { find, latestRecord, mapValues, read, recordFile, render, write } from "./report.mjs";
import { Agreement, describeEnvironment, SIDES } from "./sides.mjs";

async function measure(plan, sides, agreement, peaks, environment) {
	say("first score");
	const rows = await measureFirstScore(sides, plan, agreement);
	rows.push(...(await measureCases(plan, sides, agreement)));
	rows.push(...(await measureFiles(plan, sides, agreement)));
	const stores = [];
	for (const cachePlan of plan.caches) {
		say(`${cachePlan.vectors} vectors`);
		stores.push(...(await measureCache(cachePlan, agreement)));
	}
	const shares = peaks ? sharesOf(peaks, rows, stores) : [];
	return {
		environment,
		rows: byCase(rows.filter(isMeasured)),
		stores: stores.filter(isMeasured),
		shares,
	};
}

const isMeasured = ({ values }) => Object.keys(values).length > 0;

async function measureCases(plan, sides, agreement) {
	const rows = [];
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

/** Returns the time of a 10 MB text relative to 512 tokens. */
function timesOfLong(rows) {
	const values = (name) => find(rows, name, "p50, ms").values;
	const short = values(FALLBACK_CASE);
	const times = mapValues(values(LONG_CASE), (time, side) => time / short[side]);
	return { case: LONG_CASE, metric: "times that of 512 tokens", values: times };
}

async function measureFiles(plan, sides, agreement) {
	const rows = [];
	const [whole = FALLBACK_CASE, ...others] = FILES.filter(isAvailable);
	for (const filePlan of plan.fileRuns) {
		say(`${whole} from first to last, ${filePlan.inFlight} in flight`);
		rows.push(...(await measureFile(sides, whole, filePlan, agreement)));
	}
	for (const name of others) {
		say(`${name} from first to last`);
		// This file is too short for other measurements.
		const once = { inFlight: 1, repetitions: 1, metric: "memory" };
		await measureFile(sides, name, once, agreement);
	}
	return rows;
}

/** The rows of a case one after the other. */
function byCase(rows) {
	const order = [...new Set(rows.map((row) => row.case))];
	return order.flatMap((name) => rows.filter((row) => row.case === name));
}

/** Prints progress to stderr; stdout is for the results. */
function say(what) {
	const seconds = Math.round(performance.now() / 1000);
	console.error(`benchmark: ${what} (${seconds} s)`);
}

async function main() {
	const { values, positionals } = parseArgs({
		options: {
			quick: { type: "boolean", default: false },
			json: { type: "string" },
			record: { type: "boolean" },
			charts: { type: "boolean" },
		},
		allowPositionals: true,
	});
	const { quick, json, record, charts } = values;
	if (quick && record) throw new Error("--quick measures too little for --record");
	if (charts) {
		for (const made of draw(read(positionals[0] ?? latestRecord()))) say(`wrote ${made}`);
		return;
	}
	const agreement = new Agreement();
	const missing = FILES.filter((name) => !isAvailable(name)).map(
		(name) => `There is no file with ${name} runs; they are left out.`,
	);
	const environment = describeEnvironment();
	say("peaks");
	const peaks = measurePeaks();
	if (!peaks) missing.push("cargo bench failed or is missing: shares of peak are left out.");
	for (const sentence of missing) console.error(`benchmark: ${sentence}`);
	const plan = quick ? QUICK : FULL;
	const measured = await measure(plan, SIDES, agreement, peaks, environment);
	const report = { ...measured, quick, differences: agreement.greatest };
	console.log([...missing, render(report)].join("\n"));
	if (json) write(json, report);
	if (record) {
		const file = recordFile(report.environment);
		write(file, report);
		for (const made of [file, ...draw(report)]) say(`wrote ${made}`);
	}
}

main().catch((error) => {
	console.error(`benchmark: ${error.message}`);
	process.exitCode = 1;
});
