import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import * as recorded from "../../../__test__/support/recorded.mjs";
import { assertWithin } from "../../../__test__/support/scores.mjs";
import { assertEnds, file, folder, kpScore, linesOf, parsed, rowsOf } from "./support.mjs";

/** Tolerance of scores between processors. */
const TOLERANCE = 1e-5;

const skip = recorded.files.length === 0 && "no recorded traces";

/** What golden files do not keep: recorded texts, paths, versions and times. */
const LEFT_OUT = /^(model|modelFingerprint|modelName|objective|source|timesMs|version)s?$/;

const kept = (value) =>
	JSON.parse(JSON.stringify(value, (name, each) => (LEFT_OUT.test(name) ? undefined : each)));

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

const SOFTWARE = fileURLToPath(new URL("software.jsonl", recorded.folder));

/** How many airline runs are calibrated. */
const LABELLED = 30;

/** Scores the software runs, once for all tests. */
const software = skip ? undefined : kpScore(["score", SOFTWARE]);

const OF_AIRLINE = ["--target-share", "0.2", "--fit", "--labels", "labels.csv"];

/** Calibrates airline runs, once for all tests. */
async function calibrateAirline() {
	// One after another, because each uses all cores.
	await software;
	const { traces: runs } = recorded.firstOf("airline.jsonl", LABELLED);
	file("airline.jsonl", linesOf(runs));
	const lines = runs.map(({ id, metadata }) => `${id},${Number(metadata.success)}\n`);
	file("labels.csv", `id,label\n${lines.join("")}`);
	const files = ["--rows", "rows.jsonl", "--html", "report.html"];
	return kpScore(["calibrate", "airline.jsonl", ...files, ...OF_AIRLINE]);
}
const airline = skip ? undefined : calibrateAirline();

const written = (name) => readFileSync(join(folder, name), "utf8");

/** Compares rows with the scores that the SDK gives to the first runs of a file. */
function assertScores(name, rows) {
	const { golden } = recorded.firstOf(name, rows.length);
	const [ids, expectedIds] = [rows, golden].map((all) => all.map(({ id }) => id));
	assert.deepEqual(ids, expectedIds);
	const [scores, expected] = [rows, golden].map((all) => all.map(({ score }) => score));
	assertWithin(TOLERANCE, scores, expected, (index) => ids[index]);
}

test("kp-score score gives the scores of the SDK and of a Scorer", { skip }, async () => {
	const rows = parsed((await software).stdout);
	assertScores("software.jsonl", rows);
	assertGolden("score", rows);
	const scorer = new Scorer();
	for (const [index, trace] of recorded.firstOf("software.jsonl", 3).traces.entries())
		assert.equal(rows[index].score, await scorer.evaluateValue(trace));
});

test("kp-score calibrate gives the scores of the SDK", { skip }, async () => {
	assert.equal((await airline).code, 0);
	const rows = parsed(written("rows.jsonl"));
	assert.equal(rows.length, LABELLED);
	assertScores("airline.jsonl", rows);
});

test("kp-score explains with the traces before", { skip }, async () => {
	const id = "kp:trace:swe-57a755ffe8db";
	// In a process of its own, whose memo has no texts.
	const { stdout } = await kpScore(["explain", SOFTWARE, "--id", id], {});
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
	const sorted = changes.toSorted((a, b) => b - a);
	assert.deepEqual(changes, sorted);
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
