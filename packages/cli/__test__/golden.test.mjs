import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import { file, kpScore, linesOf, parsed } from "./support.mjs";

/** How far scores of the model may differ between processors. */
const TOLERANCE = 1e-5;

const traces = fileURLToPath(new URL("../../../../shared/traces", import.meta.url));
const skip = !existsSync(traces) && "no recorded traces";

/** The traces of a file. */
const read = (name) => parsed(readFileSync(`${traces}/${name}.jsonl`, "utf8"));

/** What golden files keep: neither texts of recordings, nor paths, versions and times. */
function kept(value) {
	if (Array.isArray(value)) return value.map(kept);
	if (value === null || typeof value !== "object") return value;
	const left = ["model", "models", "modelName", "objective", "source", "timesMs", "version"];
	return Object.fromEntries(
		Object.entries(value)
			.filter(([name]) => !left.includes(name) && name !== "versions")
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

/** How many traces of a file are scored, and how many of them have labels. */
const PREFIX = 20;
const LABELLED = 50;

for (const name of ["airline", "software"])
	test(`kp-score scores ${name} as the SDK does`, { skip }, async () => {
		const some = read(name).slice(0, PREFIX);
		const path = file(`${name}.jsonl`, linesOf(some));
		const { code, stdout } = await kpScore(["score", path]);
		assert.equal(code, 0);
		const golden = JSON.parse(readFileSync(`${traces}/golden/${name}.json`, "utf8")).slice(
			0,
			PREFIX,
		);
		const rows = parsed(stdout);
		assert.deepEqual(
			rows.map(({ id }) => id),
			golden.map(({ id }) => id),
		);
		for (const [index, { score }] of golden.entries())
			assert.ok(Math.abs(rows[index].score - score) < TOLERANCE, rows[index].id);
		if (name === "software") assertGolden("score", rows);
		const scorer = new Scorer();
		for (const [index, trace] of some.entries())
			assert.equal(rows[index].score, await scorer.evaluateValue(trace));
	});

test("kp-score gates on the share of runs", { skip }, async () => {
	const gate = (minShare) =>
		kpScore(["score", `${traces}/software.jsonl`, "--threshold", "0.6", "--min-share", minShare]);
	assert.equal((await gate("0.5")).code, 0);
	const { code, stderr } = await gate("0.6");
	assert.equal(code, 3);
	assert.match(stderr, /55\.6 % of the traces score 0\.6 or more, --min-share is 60\.0 %/);
});

test("kp-score explains with the traces before", { skip }, async () => {
	const id = "kp:trace:swe-57a755ffe8db";
	const { stdout } = await kpScore(["explain", `${traces}/software.jsonl`, "--id", id]);
	const [found] = parsed(stdout);
	assert.equal(found.id, id);
	assert.equal(found.report.novelty.nearest, "kp:trace:swe-229858627f8a");
	assertGolden("explain", found);
});

test("kp-score compares two precisions", { skip }, async () => {
	const file = `${traces}/software.jsonl`;
	const exact = (await kpScore(["score", file])).stdout;
	const { stdout } = await kpScore(["compare", "-", file, "--precision", "fast"], { input: exact });
	const pairs = parsed(stdout);
	const changes = pairs.map(({ change }) => Math.abs(change));
	assert.equal(changes.length, 9);
	assert.deepEqual(
		changes,
		[...changes].sort((a, b) => b - a),
	);
	assert.ok(changes[0] > 0 && changes[0] < 0.006, String(changes[0]));
});

test("kp-score compare shows what other weights change", { skip }, async () => {
	const even = {
		...{ complexity: 0.25, novelty: 0.25 },
		...{ toolDiversity: 0.25, outcomeConfidence: 0.25 },
	};
	const profiles = file("even.json", JSON.stringify({ code: even }));
	const path = `${traces}/software.jsonl`;
	const { stdout: before } = await kpScore(["score", path]);
	const { stdout } = await kpScore(["compare", "-", path, "--profiles", profiles], {
		input: before,
	});
	assertGolden("compare", parsed(stdout));
});

test("kp-score calibrate warns of labels that are success", {
	skip,
}, async () => {
	const some = read("airline").slice(0, LABELLED);
	const path = file("labelled.jsonl", linesOf(some));
	const labels = file(
		"labels.csv",
		`id,label\n${some.map(({ id, metadata }) => `${id},${Number(metadata.success)}\n`).join("")}`,
	);
	const { code, stdout, stderr } = await kpScore([
		...["calibrate", path, "--labels", labels],
		...["--target-share", "0.2", "--fit"],
	]);
	assert.equal(code, 0, stderr);
	assert.match(stderr, /warning: the labels equal `success` in 100\.0 %/);
	const [found] = parsed(stdout);
	const { threshold, labels: judged, fits, rows, overall, warnings } = found;
	const { auc, leakage } = judged;
	assert.ok(auc.value - leakage.aucWithoutOutcome.value > 0.3);
	assert.equal(fits[0].withoutOutcome, true);
	const { value, accepted } = threshold;
	assertGolden("calibrate", {
		...{ rows, warnings, threshold: { value, accepted } },
		percentiles: overall.score.percentiles,
		accepted: overall.accepted,
		labels: { auc: auc.value, leakage },
	});
});

test("kp-score calibrate finds the same in logs and in rows", {
	skip,
}, async () => {
	const logs = file("some.jsonl", linesOf(read("airline").slice(0, PREFIX)));
	const rows = file("rows.jsonl", "");
	const html = file("report.html", "");
	const target = ["--target-share", "0.2"];
	const ofLogs = await kpScore([
		...["calibrate", logs, "--rows", rows],
		...["--html", html, ...target],
	]);
	const ofRows = await kpScore(["calibrate", rows, ...target]);
	assert.equal(ofRows.code, 0, ofRows.stderr);
	assert.equal(ofRows.stdout, ofLogs.stdout);
	const [first] = parsed(readFileSync(rows, "utf8"));
	assert.deepEqual(first.source.name, logs);
	const report = readFileSync(html, "utf8");
	assert.match(report, /^<!doctype html>/);
	assert.match(report, /kp-score calibrate .*some\.jsonl --rows/);
	assert.match(report, /kp:trace:tau-airline-/);
});
