import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertEnds, file, folder, kpScore, linesOf, OFF, traceOf } from "./support.mjs";

const DIMENSIONS = { complexity: 1, novelty: 1, toolDiversity: 1, outcomeConfidence: 1 };

for (const [name, content] of [
	["one.jsonl", linesOf([traceOf(1)])],
	["two.jsonl", linesOf([traceOf(1), traceOf(2)])],
	["broken.jsonl", `${linesOf([traceOf(1)])}{"no json\n${linesOf([traceOf(2)])}`],
	["empty.jsonl", ""],
	["blank.jsonl", "\n\n"],
	["utf8.jsonl", Buffer.concat([Buffer.from(linesOf([traceOf(1)])), Buffer.of(0x22, 0xff, 0x0a)])],
	["messages.json", '[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]'],
	["profiles.json", '{"code":{"complexity":1}}'],
	["text.txt", "no JSON"],
	["wrong-rows.jsonl", '{"score":1,"dimensions":null}\n'],
	["wrong-id.jsonl", linesOf([{ id: 1, score: 1, overrides: [], dimensions: DIMENSIONS }])],
	["no-text-id.jsonl", linesOf([null, 1].map((id) => ({ ...traceOf(1), id })))],
	["wrong.jsonl", '{"no json\n'],
	["-opt.jsonl", linesOf([traceOf(1)])],
	["failing/run.jsonl", linesOf([traceOf(1, { confidence: 93 })])],
	["labels.csv", "id,label\nt:1,maybe\n"],
	["rows.jsonl", linesOf([{ id: "t:1", score: 1, dimensions: DIMENSIONS }])],
])
	file(name, content);
mkdirSync(join(folder, "nothing"));

/** A line with an empty word at its end has an empty argument. */
for (const [code, line, pattern] of [
	[0, "--help", /Exit codes/],
	[0, "--version", /^\d/],
	[0, "help import", /Formats: .*, messages\./],
	[0, "import two.jsonl --dry-run", /"traces":2/],
	[0, "import messages.json --dry-run", /"traces":1/],
	[0, "compare one.jsonl two.jsonl --embedder off", /"change":0/],
	[0, "doctor", /"onnxRuntime":{"library":"[^"]*onnxruntime[^"]*","version":"1\.21.*"error":null/],
	[0, "score messages.json --embedder off", /"successFrom":"assumed"/],
	[0, "explain messages.json --embedder off", /"successFrom":"assumed","confidenceFrom":"default"/],
	[2, "scor one.jsonl", /unknown command/],
	[2, "score", /missing required argument/],
	[2, "score one.jsonl --treshold 1", /unknown option/],
	[2, "score one.jsonl --threshold 2", /number from 0 to 1/],
	[2, "score one.jsonl --threshold ", /number from 0 to 1/],
	[2, "score one.jsonl --from word", /Allowed choices/],
	[2, "score one.jsonl --min-share 1", /needs --threshold/],
	[2, "score one.jsonl --store redis://h", /postgres/],
	[2, "score one.jsonl --store sqlite:x.db?namespace=", /expected namespace=NAME, found no name/],
	[2, "calibrate rows.jsonl --labels /dev/zero", /cannot read .dev.zero: expected at most 64 MiB/],
	[2, "score one.jsonl --memory /dev/null --embedder off", /expected a regular file/],
	[2, "score one.jsonl --profiles missing.json", /missing\.json/],
	[2, "score one.jsonl --profiles text.txt", /expected JSON/],
	[
		2,
		"score one.jsonl --profiles profiles.json",
		/profiles\.json: code\.novelty: expected a finite number/,
	],
	[2, "score one.jsonl --memory text.txt --embedder off", /text\.txt/],
	[2, "score one.jsonl -o no/such/folder", /cannot write/],
	[2, "score missing.jsonl", /no such file/],
	[2, "score missing/*.jsonl", /no file matches/],
	[2, "score nothing", /no \.json/],
	[2, "score - -", /only once/],
	[2, "select one.jsonl --count 1 --copy ", /--copy <folder>.* Expected a value, found nothing/],
	[2, "explain one.jsonl --id ", /--id <id>.* Expected a value, found nothing/],
	[2, "score one.jsonl --exclude-project ", /Expected a value, found nothing/],
	[2, "score one.jsonl --threshold 0.9 --threshold 0.1", /'--threshold <score>' is given twice/],
	[2, "select - --against - --count 1 --novelty words", /only once/],
	[2, "score one.jsonl -o ", /--output <file>.* Expected a value, found nothing/],
	[0, "explain one.jsonl --novelty words --table", /succeeded · 2 steps$/m],
	[2, "score empty.jsonl --embedder off", /expected a log, found nothing: it is empty/],
	[2, "score blank.jsonl --embedder off", /expected a log, found nothing: it is empty/],
	[2, "score one.jsonl --from otel --embedder off", /otel/],
	[2, "score broken.jsonl --embedder off", /broken\.jsonl:2/],
	[2, "score broken.jsonl --errors collect --embedder off", /"t:2"/],
	[2, "score utf8.jsonl --embedder off", /UTF-8/],
	[2, "import messages.json", /; set --assume-success/],
	[2, "score one.jsonl --group metadata --embedder off", /--group: expected a JSON pointer/],
	[2, "calibrate two.jsonl --fit --novelty words", /--fit: expected rows with labels/],
	[2, "calibrate rows.jsonl", /error: rows\.jsonl:1: domain: expected a value/],
	[
		2,
		"explain rows.jsonl --table",
		/error: rows\.jsonl:1: metadata\.task_domain: expected a string/,
	],
	[2, "score -opt.jsonl --embedder off", /begins as options do: write \.\/-opt\.jsonl, or --/],
	[0, "score --embedder off -- -opt.jsonl", /"t:1"/],
	[0, "score one.jsonl -o - --embedder off", /"t:1"/],
	[2, "select one.jsonl --count 1 -o -", /standard output has the rows; name a file/],
	[2, "score one.jsonl --html -", /--html <file>.* Expected a file; \.\/- is one/],
	[2, "score failing --embedder off", /the first: failing\/run\.jsonl:1: outcome\.confidence/],
	[2, "compare messages.json one.jsonl --embedder off", /--assume-success/],
	[2, "explain no-text-id.jsonl --id t:1 --embedder off", /no trace with the id t:1 among 2/],
	[2, "calibrate rows.jsonl --group /id", /--group is for logs/],
	[0, "score one.jsonl -d finance --embedder off", /--domain finance does not apply to 1/],
	[0, "explain one.jsonl -d finance --embedder off", /--domain finance does not apply to 1/],
	[0, "compare one.jsonl one.jsonl -d finance --embedder off", /--domain finance does not apply/],
	[0, "import one.jsonl -d finance", /--domain finance does not apply to 1 reasoning trace/],
	[4, "score one.jsonl --model nothing", /nothing\/manifest\.json/],
	[2, "explain one.jsonl --id t:9 --embedder off", /no trace with the id t:9/],
	[2, "import one.jsonl --dry-run -o x", /dry-run/],
	[2, "import one.jsonl -o nothing", /directory/],
	[2, "compare one.jsonl", /missing required/],
	[2, "compare - -", /only once/],
	[2, "compare one.jsonl empty.jsonl --embedder off", /empty/],
	[2, "compare wrong-id.jsonl one.jsonl --embedder off", /wrong-id\.jsonl:1: expected a row/],
	[2, "calibrate wrong-rows.jsonl", /wrong-rows\.jsonl:1: expected a row/],
	[2, "calibrate one.jsonl wrong-rows.jsonl", /wrong-rows\.jsonl:1: expected a row/],
	[2, "score wrong.jsonl --errors collect --embedder off", /^0 traces in [^:]*$/m],
	[
		2,
		"calibrate one.jsonl --target-share 0.2 --threshold 0.5",
		/cannot be used with option '--threshold <score>'/,
	],
	[
		2,
		"calibrate one.jsonl --rows r.jsonl --labels labels.csv",
		/labels\.csv:2: expected 1, 0 or nothing, found "maybe"/,
	],
	[
		3,
		"score two.jsonl --threshold 1 --min-share 0.5 --embedder off",
		/gate not met: 0\.0 % of the traces score 1 or more, --min-share is 50\.0 %/,
	],
	[0, "score two.jsonl --threshold 0.1 --min-share 1 --embedder off", /"t:2"/],
	[3, "score two.jsonl --decide --threshold 1 --min-share 0.01 --embedder off", /gate not met/],
	[0, "score two.jsonl --decide --threshold 0.1 --min-share 1 --embedder off", /"t:2"/],
	[
		2,
		"score broken.jsonl --errors collect --threshold 1 --min-share 1 --embedder off",
		/gate not met/,
	],
])
	test(`kp-score ${line} ends with ${code}`, async () => {
		const { stdout, stderr, ...end } = await kpScore(line.split(" "));
		assert.deepEqual(end, { code, signal: null }, stderr);
		assert.match(stdout + stderr, pattern);
		assert.doesNotMatch(stderr, /\n {4}at /, "a stack");
	});

test("kp-score names the options with which a memory or a store was made", async () => {
	for (const options of [
		["--memory", "words.kpcache"],
		["--store", "sqlite:words.db?create=1"],
	]) {
		await assertEnds(0, ["score", "one.jsonl", "--novelty", "words", ...options]);
		const { stderr } = await assertEnds(2, ["score", "one.jsonl", ...options]);
		assert.match(stderr, /got "words 2"|model words 2/);
		assert.match(stderr, /hint: .*--novelty, --model and --pooling/);
	}
});

test("kp-score ends with 4 if the embedder is unavailable", async () => {
	const env = { ...process.env, KNOWLEDGEPULSE_SCORING_MODEL: join(folder, "nothing") };
	for (const args of [["score", "one.jsonl"], ["doctor"], ["explain", "one.jsonl"]]) {
		const { stdout } = await assertEnds(4, args, { env });
		assert.doesNotMatch(stdout, /"score":/);
	}
	await assertEnds(0, ["score", "one.jsonl", "--embedder", "auto"], { env });
});

test("kp-score compare ends with 3 after a change larger than --max-change", async () => {
	file("changed.jsonl", linesOf([traceOf(1, { confidence: 0.1 })]));
	const args = ["compare", "one.jsonl", "changed.jsonl", "--max-change", "0.01", ...OFF];
	const { stdout, stderr } = await assertEnds(3, args);
	assert.match(stderr, /gate not met/);
	assert.ok(JSON.parse(stdout).change < -0.1);
});

test("kp-score compare --max-change allows for rounding, and wants all runs on both sides", async () => {
	const row = (n, score) => ({ id: `t:${n}`, score, dimensions: DIMENSIONS });
	file("six.jsonl", linesOf([row(1, 0.6)]));
	file("more.jsonl", linesOf([row(1, 0.61)]));
	await assertEnds(0, ["compare", "six.jsonl", "more.jsonl", "--max-change", "0.01"]);
	file("hundred.jsonl", linesOf(Array.from({ length: 100 }, (_, n) => row(n, 0.6))));
	const { stderr } = await assertEnds(3, [
		"compare",
		"hundred.jsonl",
		"six.jsonl",
		"--max-change",
		"0.01",
	]);
	assert.match(stderr, /gate not met: .*99 runs only on one/);
	await assertEnds(0, ["compare", "hundred.jsonl", "six.jsonl"]);
});

test("kp-score says which file cannot be read", async (t) => {
	// Even root cannot read the memory of a process.
	const memory = "/proc/self/mem";
	if (!existsSync(memory)) return t.skip("no /proc");
	for (const args of [
		["score", memory, ...OFF],
		["calibrate", memory],
	]) {
		const { stderr } = await assertEnds(2, args);
		assert.match(stderr, /read '\/proc\/self\/mem'/);
	}
});

test("kp-score compare refuses a line that is longer than the importer's limit", async (t) => {
	if (!existsSync("/dev/zero")) return t.skip("no /dev/zero");
	const args = ["compare", "/dev/zero", "one.jsonl", ...OFF];
	const { stderr } = await assertEnds(2, args, { timeout: 120_000 });
	assert.match(stderr, /\/dev\/zero:1: expected a line of at most 256 MiB/);
});

test("kp-score --quiet leaves out the summary, but no warnings", async () => {
	const args = ["score", "broken.jsonl", "--errors", "collect", ...OFF];
	const { stderr } = await kpScore([...args, "--quiet"]);
	assert.match(stderr, /^warning: 1 error: /);
	assert.doesNotMatch(stderr, /median/);
	assert.match((await kpScore(args)).stderr, /median/);
});
