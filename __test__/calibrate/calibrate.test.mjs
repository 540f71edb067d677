import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { calibrate, calibrationReport } from "@knowledgepulse/scoring/calibrate";
import { fromMessages } from "@knowledgepulse/scoring/logs";
import { assumed, conversation } from "../support/imports.mjs";
import { calibrationRows as rows } from "../support/trace-files.mjs";

/** Rows of one domain, labelled by tool diversity only. */
const decided = rows.map((row, index) => ({
	...row,
	domain: "code",
	label: row.dimensions.toolDiversity + (index % 7) / 100 > 0.3,
}));

test("calibrate ends when it is aborted, and delays neither the event loop nor an import", async () => {
	// Takes some seconds unless ended.
	const long = { fit: true, replicates: 10_000 };
	const many = Array.from({ length: 200 }, () => rows).flat();
	const abort = new AbortController();
	const { signal } = abort;
	const calls = [calibrate(many, { ...long, signal }), calibrate(rows, { signal })];
	let isOver = false;
	const rejected = calls.map((call) =>
		assert.rejects(call, (reason) => {
			isOver = true;
			return reason === "enough";
		}),
	);
	await fromMessages(conversation("Which ships call at Bergen?"), assumed);
	assert.equal(isOver, false);
	abort.abort("enough");
	await Promise.all(rejected);
	const found = await calibrate(rows);
	assert.deepEqual(await calibrate(new Set(rows), { signal: undefined }), found);
	const other = await calibrate(rows, { seed: 1 });
	assert.notDeepEqual(other.labels.auc.interval, found.labels.auc.interval);
	await assert.rejects(calibrate(rows, { signal }), (reason) => reason === "enough");
});

test("calibrate recommends weights that a scorer takes", async () => {
	const { fits } = await calibrate(decided, { fit: true });
	const better = fits.filter(({ recommended }) => recommended !== null);
	assert.ok(better.length > 0);
	for (const { recommended, result } of better) {
		assert.equal(result.outcome, "better");
		const sum = Object.values(recommended).reduce((a, b) => a + b, 0);
		assert.ok(Math.abs(sum - 1) < 1e-12);
	}
	const profiles = Object.fromEntries(
		better.map(({ profile, recommended }) => [profile, recommended]),
	);
	new Scorer({ profiles, embedder: "off" }).close();
});

test("calibrate judges scores by the profiles that are given", async () => {
	const even = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	const { domains, warnings } = await calibrate(rows, { profiles: { code: even } });
	const code = domains.find(({ domain }) => domain === "code");
	assert.deepEqual(code.weights, even);
	assert.ok(warnings.some((each) => each.code === "other-profiles"));
});

const [row] = rows;
for (const [title, given, options, code, path, message] of [
	["no rows", [], {}, "NO_ROWS", "rows", /expected rows, got none/],
	[
		"a row that JSON cannot express",
		[row, { ...row, score: 1n }],
		{},
		"INVALID_ROW",
		"rows[1]",
		/^rows\[1\]: expected a value that JSON can express, got .*BigInt/,
	],
	[
		"a target that is no number",
		rows,
		{ target: { share: 1n } },
		"INVALID_OPTION",
		"target.share",
		/expected a number in \(0, 1\], got 1n/,
	],
	...[
		[{ level: 1 }, "level", /expected a number in \[0.5, 0.999\], got 1$/],
		[{ replicates: 1 }, "replicates", /expected a whole number from 100 to 10000, got 1$/],
		[{ first: -1 }, "first", /expected a whole number, 0 or more, got -1$/],
		[{ target: { share: 0 } }, "target.share", /expected a number in \(0, 1\], got 0$/],
		[{ target: { threshold: -1 } }, "target.threshold", /expected a number in \[0, 1\], got -1$/],
		[{ target: { precision: Number.NaN } }, "target.precision", /in \(0, 1\), got NaN$/],
	].map(([options, path, message]) => [path, rows, options, "INVALID_OPTION", path, message]),
	["rows that are none", 7, {}, "INVALID_OPTION", "rows", /got 7/],
	["an unknown option", rows, { traget: 1 }, "INVALID_OPTION", "traget", /did you mean target\?/],
	[
		"two targets",
		rows,
		{ target: { share: 0.1, precision: 0.9 } },
		"INVALID_OPTION",
		"target",
		/expected one of threshold, share and precision/,
	],
	[
		"profiles that are none",
		rows,
		{ profiles: { code: { novelty: 1 } } },
		"INVALID_OPTION",
		"profiles.code.complexity",
		/expected a finite number, 0 or more, got undefined/,
	],
])
	test(`calibrate rejects ${title}`, () =>
		assert.rejects(calibrate(given, options), { name: "ScoringError", code, path, message }));

test("calibrationReport rejects what is no calibration", async () => {
	const found = await calibrate(rows, { replicates: 100 });
	for (const [calibration, options, path] of [
		[{}, {}, "calibration.options"],
		[undefined, {}, "calibration"],
		[found, { title: 7 }, "title"],
		[found, { titel: "x" }, "titel"],
		[found, { settings: null }, "settings"],
		[found, { settings: { command: 1n } }, "options"],
		[{ options: 1n }, {}, "calibration"],
	])
		await assert.rejects(calibrationReport(calibration, rows, options), {
			name: "ScoringError",
			code: "INVALID_OPTION",
			path,
		});
});
