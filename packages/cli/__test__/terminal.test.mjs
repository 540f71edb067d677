import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import {
	assertEnds,
	file,
	folder,
	kpScore,
	linesOf,
	onTerminal,
	parsed,
	skipWithoutTerminal as skip,
	traceOf,
} from "./support.mjs";

const require = createRequire(import.meta.url);
const { Output } = require("../lib/output.js");
const { brief, rowTable, short } = require("../lib/row-table.js");
const { shareOf } = require("../lib/job.js");
const { duration, fit, percent, shown } = require("../lib/terminal.js");

const BOLD = "\u001b[1m";

file(
	"runs.jsonl",
	linesOf([traceOf(1), traceOf(2, { confidence: 0.1, objective: "Erase\u001b[2J the screen" })]),
);
const SCORE = ["score", "runs.jsonl", "--embedder", "off", "--threshold", "0.5"];

test("kp-score shows a table on a terminal", { skip }, async () => {
	const shown = await onTerminal(SCORE);
	assert.ok(shown.includes(BOLD));
	// Text of a log does not control the terminal.
	assert.ok(!shown.includes("\u001b[2J"));
	const lines = stripVTControlCharacters(shown).split(/\r?\n/);
	assert.match(lines[0], /^ {2}score {2}compl {2}novel/);
	assert.match(lines[1], /^✓ 0\.\d{3} .* t:1 +Fix test number 1$/);
	assert.match(lines[2], /^· 0\.\d{3} .* t:2 +Erase/);
	assert.match(shown, /1 of 2 \(50\.0 %\) score 0\.5 or more/);
});

test("kp-score honours NO_COLOR and --json on a terminal", { skip }, async () => {
	const shown = await onTerminal(SCORE, { NO_COLOR: "1" });
	assert.ok(!shown.includes(BOLD));
	const json = await onTerminal([...SCORE, "--json", "--no-progress", "-q"]);
	const ids = parsed(json).map(({ id }) => id);
	assert.deepEqual(ids, ["t:1", "t:2"]);
});

test("kp-score shows progress and the time left on a terminal", { skip }, async () => {
	const many = Array.from({ length: 5000 }, (_, n) => traceOf(n));
	file("progress.jsonl", linesOf(many));
	// Shortens the 200 ms between updates, so that every machine needs more for these.
	const quick =
		"const { setInterval } = globalThis; globalThis.setInterval = (f) => setInterval(f, 1);";
	const preloaded = { NODE_OPTIONS: `--require ${JSON.stringify(file("quick.cjs", quick))}` };
	const shown = await onTerminal(["import", "progress.jsonl", "--output", "copy.jsonl"], preloaded);
	assert.match(shown, /█░* \d+ %, [\d,]+ traces, [\d,]+\/s, .* left/);
	// A terminal that cannot erase a line has none.
	const dumb = await onTerminal(["import", "progress.jsonl", "-o", "copy.jsonl"], {
		...preloaded,
		TERM: "dumb",
	});
	assert.equal(dumb, stripVTControlCharacters(dumb));
	assert.doesNotMatch(dumb, /█/);
	assert.match(
		stripVTControlCharacters(shown),
		/written to copy\.jsonl\s+5,000 traces in 1 source/,
	);
});

test("kp-score shows colours without a terminal if FORCE_COLOR is set, but not in files", async () => {
	const found = async (FORCE_COLOR, ...more) => {
		const env = { ...process.env, FORCE_COLOR };
		return kpScore([...SCORE, "--table", ...more], { env });
	};
	for (const [value, isColoured] of [
		["1", true],
		["", true],
		["0", false],
		["false", false],
	]) {
		const { stdout, stderr } = await found(value);
		assert.deepEqual(
			[stdout, stderr].map((text) => text.includes(BOLD)),
			[isColoured, isColoured],
		);
	}
	await found("1", "-o", "coloured.txt");
	assert.ok(!readFileSync(join(folder, "coloured.txt"), "utf8").includes(BOLD));
});

test("kp-score escapes control characters in every line of JSON, and keeps the values", async () => {
	const objective = "Erase \u009b2J\u202eall\u2066\u061c \u2028end\u007f é";
	const found = [traceOf(1, { objective }), traceOf(2, { confidence: 0.1, objective })];
	file("controls.jsonl", linesOf(found));
	for (const [command, ...more] of [
		["score"],
		["import"],
		["import", "--dry-run"],
		["explain"],
		["select", "--count", "1", "-o", "controls-kept.jsonl", "--dropped", "controls-dropped.jsonl"],
		["compare", "controls.jsonl"],
		["calibrate", "--rows", "controls-rows.jsonl"],
	]) {
		const { stdout } = await assertEnds(0, [command, "controls.jsonl", ...more]);
		const files = more.filter((name) => /^controls-/.test(name));
		for (const text of [stdout, ...files.map((name) => readFileSync(join(folder, name), "utf8"))]) {
			assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028]/u, command);
			assert.ok(
				!text.includes("Erase") || JSON.stringify(parsed(text)).includes(objective),
				command,
			);
		}
	}
});

test("rowTable fits the terminal, and shows ids that explain --id takes", () => {
	const row = {
		id: "kp:trace:0742a24d-ee7d-8f8b-8040-4147f923164a",
		objective: `${"Water the garden ".repeat(5)}today`,
		score: 0.5,
		dimensions: { complexity: 1, novelty: 0.5, toolDiversity: 0, outcomeConfidence: 0.8 },
		overrides: ["error-recovery", "low-tool-diversity"],
		similarity: null,
		successFrom: "assumed",
	};
	for (const threshold of [undefined, 0.5]) {
		const linesAt = (width) => {
			const text = rowTable({ width }, { threshold })(row);
			return shown(text, {}).trimEnd().split("\n");
		};
		for (const width of [60, 80, 100])
			for (const line of linesAt(width)) assert.ok(line.length <= width, `${width}: ${line}`);
		assert.match(linesAt(80)[1], / 0\.80\? /);
		assert.match(linesAt(60)[1], / 0742a24d {2}Water the garden Water the/);
		assert.match(linesAt(80)[1], / 0742a24d {2}Water the gard/);
		assert.ok(linesAt(200)[1].endsWith(row.objective));
	}
});

test("kp-score formats numbers rounded before it chooses their unit, and shares apart from their limit", () => {
	for (const [format, expected] of [
		[duration, { 40: "40 ms", 999.6: "1.0 s", 59600: "1 min 0 s", 7500000: "2 h 5 min" }],
		[brief, { 59400: "59 s", 59600: "1 min", 3599000: "1.0 h" }],
		[short, { 999: "999", 9940: "9.9k", 9960: "10k", 999950: "1.0M" }],
	])
		assert.deepEqual(Object.keys(expected).map(Number).map(format), Object.values(expected));
	const shares = [
		[percent(0.9997, 1), percent(1, 0.9997)],
		[percent(0.25, 0.5), percent(0.5, 0.5)],
	];
	assert.deepEqual(shares, [
		["99.97 %", "100.00 %"],
		["25.0 %", "50.0 %"],
	]);
});

test("fit cuts text between characters", () => {
	for (let columns = 1; columns < 8; columns += 1)
		assert.ok(fit("a🙂b🙂c🙂", columns).isWellFormed(), String(columns));
	assert.equal(fit("a🙂b🙂c🙂", 9), "a🙂b🙂c🙂");
	assert.equal(fit("🙂🙂🙂", 5), "🙂…");
});

test("fit keeps joiners, and counts the columns of what is shown", () => {
	assert.equal(fit("می\u200cخواهم", 9), "می\u200cخواهم");
	const family = "👨\u200d👩\u200d👧";
	assert.equal(fit(`${family}${family}`, 4), `${family}${family}`);
	assert.equal(fit("e\u0301e\u0301", 2), "e\u0301e\u0301");
	assert.equal(fit("\u202ea\u2066b", 9), "a b");
});

test("rowTable aligns ids by their columns, and shows none twice", () => {
	const lineOf = rowTable({ width: 120 }, {});
	const dimensions = { complexity: 1, novelty: 0.5, toolDiversity: 0, outcomeConfidence: 0.8 };
	const row = { score: 0.5, dimensions, overrides: [], similarity: null, objective: "Objective" };
	const shownIds = ["日本0", "exp1", "experiment-1", "experiment-2"].map((id) => {
		const [line] = lineOf({ ...row, id })
			.trimEnd()
			.split("\n")
			.slice(-1);
		return shown(line, {}).slice(47);
	});
	assert.deepEqual(shownIds, [
		"日本0  Objective",
		"exp1   Objective",
		"expe…  Objective",
		"experiment-2  Objective",
	]);
});

test("Output uses 100 columns if a terminal reports 0", () => {
	const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 0 });
	assert.equal(new Output(stream).width, 100);
});

for (const [name, sizes, inputs, finished, expected] of [
	["nothing read", [100, 100], [], 0, 0],
	["a stream", [undefined], [[10, 1]], 1, undefined],
	["half of a file", [1000], [[500, 10]], 10, 0.5],
	["runs that are read ahead", [1000], [[1000, 10]], 2, 0.2],
	[
		"a long file of one run among short ones",
		[10, 10, 9000, 10],
		[
			[10, 1],
			[10, 1],
		],
		2,
		0.5,
	],
	[
		"a file of many runs after files of one",
		[10, 10, 1000],
		[
			[10, 1],
			[10, 1],
			[100, 9],
		],
		2,
		2 / 92,
	],
	[
		"compressed files",
		[10, 10],
		[
			[400, 3],
			[400, 3],
		],
		6,
		1,
	],
])
	test(`shareOf counts runs: ${name}`, () => {
		const found = inputs.map(([bytes, traces]) => ({ bytes, traces }));
		const sources = sizes.map((size) => ({ size }));
		assert.equal(shareOf(found, sources, finished), expected);
	});
