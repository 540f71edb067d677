import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import {
	assertEnds,
	file,
	folder,
	kpScore,
	kpScoreAlone,
	linesOf,
	parsed,
	rowsOf,
} from "./support.mjs";

/** Tolerance of scores between processors. */
const TOLERANCE = 1e-5;

const traces = fileURLToPath(new URL("../../../../shared/traces", import.meta.url));
const skip = !existsSync(traces) && "no recorded traces";

/** The traces of a file. */
const read = (name) => parsed(readFileSync(`${traces}/${name}.jsonl`, "utf8"));

/** Removes recorded texts, paths, versions and times, which golden files do not keep. */
function kept(value) {
	if (Array.isArray(value)) return value.map(kept);
	if (value === null || typeof value !== "object") return value;
	const left = [
		"model",
		"modelFingerprint",
		"modelName",
		"objective",
		"source",
		"timesMs",
		"version",
	];
	return Object.fromEntries(
		Object.entries(value)
			.filter(([name]) => !left.includes(name.replace(/s$/, "")) && !left.includes(name))
			.map(([name, each]) => [name, kept(each)]),
	);
}

function assertClose(found, golden, place) {
	if (typeof golden === "number")
		return assert.ok(
			Math.abs(found - golden) < TOLERANCE,
			`${place}: expected ${golden}, got ${found}`,
		);
	if (golden === null || typeof golden !== "object") return assert.equal(found, golden, place);
	assert.deepEqual(Object.keys(found), Object.keys(golden), place);
	for (const [name, each] of Object.entries(golden))
		assertClose(found[name], each, `${place}.${name}`);
}

/** Compares what a command has written with a file, which `KP_UPDATE=1` writes anew. */
function assertGolden(name, found) {
	const path = new URL(`golden/${name}.json`, import.meta.url);
	if (process.env.KP_UPDATE) writeFileSync(path, `${JSON.stringify(kept(found), null, "\t")}\n`);
	assertClose(kept(found), JSON.parse(readFileSync(path, "utf8")), name);
}

const SOFTWARE = `${traces}/software.jsonl`;

/** How many airline runs are calibrated. */
const LABELLED = 30;

/** Scores the software runs, once for all tests. */
const software = skip
	? undefined
	: kpScore(["score", SOFTWARE, "--threshold", "0.6", "--min-share", "0.6"]);

const OF_AIRLINE = ["--target-share", "0.2", "--fit", "--labels", "labels.csv"];

/** Calibrates airline runs, once for all tests. */
async function calibrateAirline() {
	// One after another, because each uses all cores.
	await software;
	const runs = read("airline").slice(0, LABELLED);
	file("airline.jsonl", linesOf(runs));
	const lines = runs.map(({ id, metadata }) => `${id},${Number(metadata.success)}\n`);
	file("labels.csv", `id,label\n${lines.join("")}`);
	const files = ["--rows", "rows.jsonl", "--html", "report.html"];
	return kpScore(["calibrate", "airline.jsonl", ...files, ...OF_AIRLINE]);
}
const airline = skip ? undefined : calibrateAirline();

const written = (name) => readFileSync(join(folder, name), "utf8");

/** Compares rows with the scores that the SDK gives. */
function assertScores(name, rows) {
	const golden = JSON.parse(readFileSync(`${traces}/golden/${name}.json`, "utf8"));
	assert.deepEqual(
		rows.map(({ id }) => id),
		golden.slice(0, rows.length).map(({ id }) => id),
	);
	for (const [index, { id, score }] of rows.entries())
		assert.ok(Math.abs(golden[index].score - score) < TOLERANCE, id);
}

test("kp-score score gives the scores of the SDK and of a Scorer", { skip }, async () => {
	const rows = parsed((await software).stdout);
	assertScores("software", rows);
	assertGolden("score", rows);
	const scorer = new Scorer();
	for (const [index, trace] of read("software").slice(0, 3).entries())
		assert.equal(rows[index].score, await scorer.evaluateValue(trace));
});

test("kp-score calibrate gives the scores of the SDK", { skip }, async () => {
	assert.equal((await airline).code, 0);
	const rows = parsed(written("rows.jsonl"));
	assert.equal(rows.length, LABELLED);
	assertScores("airline", rows);
});

test("kp-score gates on the share of runs", { skip }, async () => {
	const { code, stderr } = await software;
	assert.equal(code, 3);
	assert.match(stderr, /55\.6 % of the traces score 0\.6 or more, --min-share is 60\.0 %/);
});

test("kp-score explains with the traces before", { skip }, async () => {
	const id = "kp:trace:swe-57a755ffe8db";
	const { stdout } = await kpScoreAlone(["explain", SOFTWARE, "--id", id]);
	const [found] = parsed(stdout);
	assert.equal(found.id, id);
	assert.equal(found.report.novelty.nearest, "kp:trace:swe-229858627f8a");
	assertGolden("explain", found);
});

test("kp-score compares two precisions", { skip }, async () => {
	const { stdout: input } = await software;
	const pairs = await rowsOf(["compare", "-", SOFTWARE, "--precision", "fast"], { input });
	const changes = pairs.map(({ change }) => Math.abs(change));
	assert.equal(changes.length, 9);
	assert.deepEqual(
		changes,
		[...changes].sort((a, b) => b - a),
	);
	assert.ok(changes[0] > 0 && changes[0] < 0.006, String(changes[0]));
});

test("kp-score compare shows what other weights change", { skip }, async () => {
	const even = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	const profiles = file("even.json", JSON.stringify({ code: even }));
	const { stdout: input } = await software;
	const args = ["compare", "-", SOFTWARE, "--profiles", profiles];
	assertGolden("compare", await rowsOf(args, { input }));
});

test("kp-score calibrate warns of labels that are success", { skip }, async () => {
	const { code, stdout, stderr } = await airline;
	assert.equal(code, 0, stderr);
	assert.match(stderr, /warning: the labels equal success in 100\.0 %/);
	const [found] = parsed(stdout);
	const { threshold, labels: judged, fits, rows, overall, warnings } = found;
	const { auc, leakage } = judged;
	assert.ok(auc.value - leakage.aucWithoutOutcome.value > 0.3);
	assert.equal(fits[0].withoutOutcome, true);
	const { value, accepted } = threshold;
	assertGolden("calibrate", {
		rows,
		warnings,
		threshold: { value, accepted },
		percentiles: overall.score.percentiles,
		accepted: overall.accepted,
		labels: { auc: auc.value, leakage },
	});
});

test("kp-score calibrate finds the same in logs and in rows", { skip }, async () => {
	const { stdout } = await airline;
	const ofRows = await assertEnds(0, ["calibrate", "rows.jsonl", ...OF_AIRLINE]);
	assert.equal(ofRows.stdout, stdout);
	const [first] = parsed(written("rows.jsonl"));
	assert.deepEqual(first.source, { name: "airline.jsonl", line: 1 });
	const report = written("report.html");
	assert.match(report, /^<!doctype html>/);
	assert.match(report, /kp-score calibrate airline\.jsonl --rows/);
	assert.match(report, /kp:trace:tau-airline-/);
});
