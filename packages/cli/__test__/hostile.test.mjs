import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import {
	file,
	folder,
	kpScore,
	linesOf,
	OFF,
	runOnTerminal,
	skipWithoutTerminal,
	traceOf,
} from "./support.mjs";

const PASSWORD = "s3cret";

/** Escape sequences of 7 and of 8 bits, a line that looks like ours, and text from right to left. */
const EVIL = "\u001b]0;evil\u0007\u009b2J\rerror: forged\u202egnp\u2066\u2028\u0085\u007f";

/** Characters that must not reach a terminal. With NO_COLOR, only line ends are allowed. */
const UNSAFE = /(?!\r?\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;

// If the file system allows it, names contain all of it, and a line feed.
const NAME = `evil${EVIL}\nerror: forged`;
const hostile = { objective: `Erase ${EVIL}`, metadata: { task_domain: `code${EVIL}` } };
const traces = [1, 2, 3].map((n) => ({ ...traceOf(n, hostile), id: `t:${n}${EVIL}` }));

let skip = false;
try {
	for (const [name, content] of [
		["runs.jsonl", linesOf(traces)],
		["broken.jsonl", `{"id":"${EVIL}\n`],
		["unknown.jsonl", `${JSON.stringify({ [EVIL]: EVIL })}\n`],
		["labels.csv", `id,label\n"t:1${EVIL}",maybe${EVIL}\n`],
		["profiles.json", JSON.stringify({ [EVIL]: 1 })],
		["text", EVIL],
	])
		file(join(NAME, name), content);
} catch {
	skip = "no such file names";
}
file("good.jsonl", linesOf([1, 2, 3].map((n) => traceOf(n))));

const at = (name) => join(NAME, name);
const POSTGRES = `postgres://user:${PASSWORD}@127.0.0.1:1/db${EVIL}`;
const HTTPS = `https://user:${PASSWORD}@host/runs.jsonl`;
const STORES = [
	POSTGRES,
	`postgres://host/db?password=${PASSWORD}&x${EVIL}=1`,
	`mysql${EVIL}://user:${PASSWORD}@host`,
	HTTPS,
];
const SOURCES = ["score", "explain", "import", "calibrate"];

const COMMANDS = [
	...SOURCES.flatMap((command) =>
		[
			[at("runs.jsonl")],
			[NAME, "--errors", "collect"],
			[at("broken.jsonl")],
			[at("unknown.jsonl")],
			[at("absent.jsonl")],
			[HTTPS],
			[at("runs.jsonl"), "-o", at(`${command}.out`)],
			[at("runs.jsonl"), "-o", HTTPS],
		].map((args) => [command, ...args, ...(["score", "explain"].includes(command) ? OFF : [])]),
	),
	["compare", at("runs.jsonl"), "good.jsonl", ...OFF],
	["compare", at("runs.jsonl"), at("runs.jsonl"), ...OFF],
	["compare", at("runs.jsonl"), HTTPS],
	["import", NAME, "--dry-run"],
	["explain", at("runs.jsonl"), "--id", EVIL, ...OFF],
	["calibrate", at("runs.jsonl"), "--labels", at("labels.csv")],
	["calibrate", at("runs.jsonl"), "--html", "report.html", "-d", HTTPS],
	["score", "good.jsonl", "--profiles", at("profiles.json")],
	["score", "good.jsonl", "--profiles", at("text")],
	["score", "good.jsonl", "--memory", at("text")],
	["score", "good.jsonl", "--memory", HTTPS],
	["score", "good.jsonl", `--${EVIL}`, POSTGRES],
	[EVIL, POSTGRES],
	...STORES.map((url) => ["score", "good.jsonl", "--store", url]),
	["calibrate", "good.jsonl", "--html", "store.html", "--store", POSTGRES],
];

const shownAs = (args) => JSON.stringify(args.map((arg) => arg.replaceAll(EVIL, "EVIL")));

/** The output of each command to pipes and to terminals. */
const outputs = [];
const onTerminals = COMMANDS.map(() => []);

before(async () => {
	if (skip) return;
	for (const args of COMMANDS) outputs.push(await kpScore(args));
	if (skipWithoutTerminal) return;
	for (const mode of [[], ["--json"]]) {
		const commands = COMMANDS.map((args) => [...args, ...mode, "--no-progress"]);
		const shown = await runOnTerminal(commands);
		for (const [index, each] of onTerminals.entries()) each.push(shown[index]);
	}
});

for (const [index, args] of COMMANDS.entries())
	test(`kp-score ${shownAs(args)} shows no control characters and no password`, { skip }, () => {
		const { stdout, stderr } = outputs[index];
		const terminals = onTerminals[index];
		assert.ok(stdout + stderr !== "");
		for (const shown of [stderr, ...terminals]) {
			assert.doesNotMatch(shown, UNSAFE, JSON.stringify(shown));
			assert.doesNotMatch(shown, /^error: forged/m);
		}
		for (const text of [stdout, stderr, ...terminals])
			assert.ok(!text.includes(PASSWORD), JSON.stringify(text));
	});

test("kp-score writes no password to files", { skip }, () => {
	const names = ["report.html", ...SOURCES.map((name) => at(`${name}.out`))];
	for (const name of names) {
		const text = readFileSync(join(folder, name), "utf8");
		assert.ok(text !== "" && !text.includes(PASSWORD), name);
	}
});
