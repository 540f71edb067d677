import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertEnds, file, folder, idsOf, linesOf, parsed, rowsOf, traceOf } from "./support.mjs";

/** Runs of three tasks, each done twice; `t:n` and `t:n+3` are alike, and later ones are more certain. */
const TASKS = ["Prune the roses in March", "Repair the roof of the shed", "Pay the bill for water"];

const runOf = (n) =>
	traceOf(n, { objective: TASKS[n % 3], confidence: 0.5 + n / 20, metadata: { success: true } });

for (const [name, ...runs] of [
	["a/one", 0, 1],
	["a/deep/two", 2],
	["b/one", 3, 4],
	["b/two", 5],
])
	file(`runs/${name}.jsonl`, linesOf(runs.map(runOf)));
file("runs/a/notes.json", '{"no": "log"}');

const SELECT = ["select", "runs", "--novelty", "words"];

/** The logs in a folder and its subfolders. */
const logsIn = (name) =>
	readdirSync(join(folder, name), { recursive: true })
		.filter((path) => path.endsWith(".jsonl"))
		.map((path) => path.replaceAll("\\", "/"))
		.sort();

const scoresOf = (rows) => rows.map(({ score }) => score);

test("kp-score select chooses the best different runs, in their order", async () => {
	const rows = await rowsOf([...SELECT, "--count", "4"]);
	// The more certain run of each task, and then one that has been done.
	assert.deepEqual(
		rows
			.map(({ id }) => id)
			.slice(0, 3)
			.sort(),
		["t:3", "t:4", "t:5"],
	);
	assert.deepEqual(
		scoresOf(rows.slice(1)),
		scoresOf(rows.slice(1)).sort((a, b) => b - a),
	);
	const [first, , , last] = rows;
	assert.deepEqual([first.similarity, first.nearest, first.dimensions.novelty], [null, null, 0.5]);
	assert.ok(last.dimensions.novelty < 0.5);
	assert.equal(
		last.nearest,
		last.id.replace(/\d/, (n) => Number(n) + 3),
	);
	// Every row can be explained.
	file("chosen-rows.jsonl", linesOf(rows));
	const { stdout } = await assertEnds(0, ["explain", "chosen-rows.jsonl", "--table"]);
	assert.equal(stdout.match(/^0\.\d{3} {2}t:/gm).length, 4);
});

test("kp-score select --threshold ends before the first lower score", async () => {
	const all = await rowsOf(SELECT);
	assert.equal(all.length, 6);
	const { score } = all[3];
	assert.deepEqual(await rowsOf([...SELECT, "--threshold", String(score)]), all.slice(0, 4));
});

test("kp-score select -o writes the chosen traces, and --copy their logs", async () => {
	const args = [...SELECT, "--count", "3"];
	const ids = await idsOf(args);
	const to = join("out", "deep");
	file("out/deep/one.jsonl", "old");
	const options = ["-o", "chosen.jsonl", "--copy", to];
	const { stdout, stderr } = await assertEnds(0, [...args, ...options]);
	assert.deepEqual(
		parsed(stdout).map(({ id }) => id),
		ids,
	);
	const chosen = parsed(readFileSync(join(folder, "chosen.jsonl"), "utf8"));
	assert.deepEqual(
		chosen,
		ids.map((id) => runOf(Number(id.slice(2)))),
	);
	// All that is chosen is in one folder.
	assert.deepEqual(logsIn(to), ["one.jsonl", "two.jsonl"]);
	for (const name of ["one.jsonl", "two.jsonl"])
		assert.deepEqual(
			readFileSync(join(folder, to, name)),
			readFileSync(join(folder, "runs/b", name)),
		);
	assert.match(stderr, /^3 runs of 6 traces\ntraces: chosen\.jsonl\n2 logs copied to out.deep$/m);
	await assertEnds(0, [...SELECT, "--copy", "all"]);
	assert.deepEqual(logsIn("all"), [
		"a/deep/two.jsonl",
		"a/one.jsonl",
		"b/one.jsonl",
		"b/two.jsonl",
	]);
});

test("kp-score select considers only the runs that the options select", async () => {
	assert.deepEqual(await idsOf([...SELECT, "--until", "2025-12-31"]), []);
	const day = ["--since", "2026-01-01T00:00:02Z", "--until", "2026-01-01T00:00:04Z"];
	assert.deepEqual((await idsOf([...SELECT, ...day])).sort(), ["t:2", "t:3"]);
});

for (const option of ["-o", "--copy"])
	test(`kp-score select ${option} needs files`, async () => {
		const args = ["select", "-", option, "somewhere"];
		const { stderr } = await assertEnds(2, args, { input: linesOf([runOf(1)]) });
		assert.match(stderr, /stdin can be read only once: -o and --copy need files/);
	});

test("kp-score select ends with the error of a trace", async () => {
	const wrong = { ...runOf(1), outcome: { confidence: 7 } };
	const runs = Array.from({ length: 100 }, (_, n) => runOf(n % 9));
	const path = file("wrong.jsonl", linesOf([wrong, ...runs]));
	const { stdout, stderr } = await assertEnds(2, ["select", path, "--novelty", "words"]);
	assert.equal(stdout, "");
	assert.match(stderr, /^error: .*confidence/m);
});
