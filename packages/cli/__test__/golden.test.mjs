import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import { assertWithin } from "../../../__test__/support/scores.mjs";
import { firstOf, written as traces } from "../../../__test__/support/trace-files.mjs";
import { assertEnds, file, folder, kpScore, linesOf, parsed, rowsOf } from "./support.mjs";

/** Tolerance of scores between processors. */
const TOLERANCE = 1e-5;

/** What golden files do not keep: texts, paths, versions and times. */
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

const REPAIRS = fileURLToPath(new URL("repairs.jsonl", traces));

/** How many runs of the ticket desk are calibrated. */
const LABELLED = 30;

/** Scores the repairs, once for all tests. */
const repairs = kpScore(["score", REPAIRS]);

const OF_DESK = ["--target-share", "0.2", "--fit", "--labels", "labels.csv"];

/** Calibrates runs of the ticket desk, once for all tests. */
async function calibrateDesk() {
	// One after another, because each uses all cores.
	await repairs;
	const { traces: runs } = firstOf("support.jsonl", LABELLED);
	file("support.jsonl", linesOf(runs));
	const lines = runs.map(({ id, metadata }) => `${id},${Number(metadata.success)}\n`);
	file("labels.csv", `id,label\n${lines.join("")}`);
	const files = ["--rows", "rows.jsonl", "--html", "report.html"];
	return kpScore(["calibrate", "support.jsonl", ...files, ...OF_DESK]);
}
const desk = calibrateDesk();

const output = (name) => readFileSync(join(folder, name), "utf8");

/** Compares rows with the scores that the oracle gives to the first runs of a file. */
function assertScores(name, rows) {
	const { golden } = firstOf(name, rows.length);
	const [ids, expectedIds] = [rows, golden].map((all) => all.map(({ id }) => id));
	assert.deepEqual(ids, expectedIds);
	const [scores, expected] = [rows, golden].map((all) => all.map(({ score }) => score));
	assertWithin(TOLERANCE, scores, expected, (index) => ids[index]);
}

test("kp-score score gives the scores of the oracle and of a Scorer", async () => {
	const rows = parsed((await repairs).stdout);
	assertScores("repairs.jsonl", rows);
	assertGolden("score", rows);
	const scorer = new Scorer();
	for (const [index, trace] of firstOf("repairs.jsonl", 3).traces.entries())
		assert.equal(rows[index].score, await scorer.evaluateValue(trace));
});

test("kp-score calibrate gives the scores of the oracle", async () => {
	assert.equal((await desk).code, 0);
	const rows = parsed(output("rows.jsonl"));
	assert.equal(rows.length, LABELLED);
	assertScores("support.jsonl", rows);
});

test("kp-score explains with the traces before", async () => {
	const id = "kp:trace:repair-7";
	// In a process of its own, whose memo has no texts.
	const { stdout } = await kpScore(["explain", REPAIRS, "--id", id], {});
	const [found] = parsed(stdout);
	assert.equal(found.id, id);
	assert.equal(found.report.novelty.nearest, "kp:trace:repair-6");
	assertGolden("explain", found);
});

test("kp-score compares two precisions", async () => {
	const { stdout: input } = await repairs;
	const pairs = await rowsOf(["compare", "-", REPAIRS, "--precision", "fast"], { input });
	const changes = pairs.map(({ change }) => Math.abs(change));
	assert.equal(changes.length, 9);
	const sorted = changes.toSorted((a, b) => b - a);
	assert.deepEqual(changes, sorted);
	assert.ok(changes[0] > 0 && changes[0] < 0.006, String(changes[0]));
});

test("kp-score compare shows what other weights change", async () => {
	const even = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	const profiles = file("even.json", JSON.stringify({ code: even }));
	const { stdout: input } = await repairs;
	const args = ["compare", "-", REPAIRS, "--profiles", profiles];
	assertGolden("compare", await rowsOf(args, { input }));
});

test("kp-score calibrate warns of labels that are success", async () => {
	const { code, stdout, stderr } = await desk;
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

test("kp-score calibrate finds the same in logs and in rows", async () => {
	const { stdout } = await desk;
	const ofRows = await assertEnds(0, ["calibrate", "rows.jsonl", ...OF_DESK]);
	assert.equal(ofRows.stdout, stdout);
	const [first] = parsed(output("rows.jsonl"));
	assert.deepEqual(first.source, { name: "support.jsonl", line: 1 });
	const report = output("report.html");
	assert.match(report, /^<!doctype html>/);
	assert.match(report, /kp-score calibrate support\.jsonl --rows/);
	assert.match(report, /kp:trace:desk-/);
});
