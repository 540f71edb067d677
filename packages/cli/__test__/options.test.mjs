/** Every command with every option that it has, and with what can fail around it. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { file, folder, kpScore, linesOf, shell, traceOf } from "./support.mjs";

const { COMMANDS, optionsOf } = createRequire(import.meta.url)("../lib/options.js");

const runs = Array.from({ length: 12 }, (_, n) => traceOf(n, { confidence: n / 12 }));
file("runs.jsonl", linesOf(runs));
file("kept.jsonl", linesOf(runs.slice(0, 2)));
file("labels.csv", `id,label\n${runs.map(({ id }, n) => `${id},${n % 2}\n`).join("")}`);
const weight = 0.25;
const weights = { complexity: weight, novelty: weight, toolDiversity: weight };
file("profiles.json", JSON.stringify({ code: { ...weights, outcomeConfidence: weight } }));
mkdirSync(join(folder, "empty"));

/** The arguments of each command, without options and with those that it needs. */
const WORDS = ["--novelty", "words"];
const ARGUMENTS = {
	score: [["runs.jsonl"], WORDS],
	select: [["runs.jsonl"], ["--count", "2", ...WORDS]],
	explain: [["runs.jsonl"], WORDS],
	import: [["runs.jsonl"], []],
	compare: [["runs.jsonl", "runs.jsonl"], WORDS],
	calibrate: [["runs.jsonl"], WORDS],
	store: [["init"], ["--store", "sqlite:options.db", ...WORDS]],
	doctor: [[], []],
};

/** A value of each option that takes one, and what else it needs. */
const SAMPLES = {
	count: ["2"],
	coverage: ["0.5"],
	perGroup: ["1"],
	against: ["kept.jsonl"],
	dropped: ["dropped.jsonl"],
	as: ["traces"],
	redact: [undefined, "-o", "redacted.jsonl"],
	copy: ["copies"],
	threshold: ["0.5"],
	minShare: ["0.1", "--threshold", "0.1"],
	top: ["2"],
	since: ["2025-01-01"],
	until: ["2027-01-01"],
	project: ["shop"],
	excludeProject: ["shop"],
	by: ["week"],
	id: ["t:1"],
	maxChange: ["0.1"],
	limit: ["1"],
	targetShare: ["0.2"],
	targetPrecision: ["0.9", "--labels", "labels.csv"],
	labels: ["labels.csv"],
	fit: [undefined, "--labels", "labels.csv"],
	html: ["page.html"],
	rows: ["rows.jsonl"],
	first: ["1"],
	level: ["0.9"],
	replicates: ["100"],
	seed: ["1"],
	group: ["/metadata/task_domain"],
	from: ["reasoning-trace"],
	assumeSuccess: ["skip"],
	domain: ["code"],
	errors: ["collect"],
	embedder: ["auto"],
	precision: ["exact"],
	model: ["empty"],
	pooling: ["mean"],
	novelty: ["words"],
	memory: ["memory.kpcache"],
	profiles: ["profiles.json"],
	store: ["sqlite:options.db?create=1"],
	maxElements: ["1000"],
	ttlMs: ["1000000000"],
	output: ["written.jsonl"],
};

/** Options that need others. */
const NEEDS = { group: { select: ["--per-group", "2"] } };

/** What no message has. */
const RAW = /\n {4}at |\bundefined\b|\bNaN\b|\[object |(?:Type|Range|Reference)Error/;

/** Runs a command, which must end with a code, and with one error at most. */
async function assertClean(expected, args) {
	const { code, stdout, stderr } = await kpScore(args);
	assert.equal(code, expected, `${args.join(" ")}: ${stderr}`);
	assert.doesNotMatch(stdout + stderr, RAW, args.join(" "));
	const errors = stderr.match(/^(?:error|gate not met):/gm) ?? [];
	assert.equal(errors.length, Number(code > 0), `${args.join(" ")}: ${stderr}`);
	return stderr;
}

for (const [name, command] of Object.entries(COMMANDS)) {
	const [args, needed] = ARGUMENTS[name];
	test(`kp-score ${name} takes each of its options, and refuses other values`, async () => {
		for (const option of optionsOf(command)) {
			const attribute = option.attributeName();
			const [value, ...others] = SAMPLES[attribute] ?? [];
			const more = [...others, ...(NEEDS[attribute]?.[name] ?? [])];
			// An option is given once.
			const without = needed.flatMap((flag, at) =>
				at % 2 === 0 && flag !== option.long ? [flag, needed[at + 1]] : [],
			);
			const given = [option.long, ...(value ? [value] : []), ...more];
			// A store has its bounds for good.
			const own = without.map((part) => part.replace("options.db", `${attribute}.db`));
			const whole = [name, ...args, ...own, ...given];
			await assertClean(0, whole);
			if (!option.required) continue;
			assert.ok(value, `${option.long} has no sample`);
			const empty = [name, ...args, ...without, option.long, "", ...more];
			assert.match(await assertClean(2, empty), new RegExp(`'[^']*${option.long}\\b`));
			if (option.isRepeated) continue;
			const twice = [...whole, option.long, value];
			assert.match(await assertClean(2, twice), new RegExp(`${option.long}\\b.* is given twice`));
		}
	});

	const line = [name, ...args, ...needed].join(" ");
	test(`kp-score ${name} says what fails around it`, async (t) => {
		if (process.platform === "win32") return t.skip("no such devices");
		const full = await shell(`kp-score ${line} --json > /dev/full`);
		assert.equal(full.code, 1, full.stderr);
		assert.match(full.stderr, /^error: cannot write to standard output: the disk is full/m);
		const closed = await shell(`set -o pipefail; kp-score ${line} --json | true`);
		assert.equal(closed.code, 0, closed.stderr);
		for (const { stderr } of [full, closed]) assert.doesNotMatch(stderr, RAW);
		if (name === "doctor") return;
		if (optionsOf(command).some((option) => option.long === "--store")) {
			const server = ["--store", "postgres://127.0.0.1:1/none"];
			const away = [name, ...args, ...WORDS, ...server];
			assert.match(await assertClean(4, away), /the store is unavailable: .*ECONNREFUSED/);
		}
		if (name === "store") return;
		const nothing = [name, ...args.fill("empty"), ...needed];
		assert.match(await assertClean(2, nothing), /empty: no \.json/);
	});
}
