import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import {
	assertEnds,
	environment,
	file,
	folder,
	kpScore,
	linesOf,
	OFF,
	parsed,
	shell,
	traceOf,
} from "./support.mjs";

const { Output } = createRequire(import.meta.url)("../lib/output.js");

file("runs.jsonl", linesOf([1, 2, 3].map((n) => traceOf(n))));

test("kp-score does not follow links beside its output file", async () => {
	const victim = file("victim.txt", "precious");
	const { stderr } = await shell(
		`for suffix in tmp $$.tmp; do ln -s victim.txt "out.jsonl.$suffix"; done
		exec '${process.execPath}' '${new URL("../bin/kp-score.js", import.meta.url).pathname}' import runs.jsonl -o out.jsonl`,
	);
	assert.match(stderr, /3 traces/);
	assert.equal(readFileSync(victim, "utf8"), "precious");
	assert.equal(parsed(readFileSync(join(folder, "out.jsonl"), "utf8")).length, 3);
});

test("kp-score refuses two outputs with one name, links included", async () => {
	file("same", "precious");
	symlinkSync("same", join(folder, "other"));
	for (const args of [
		["score", "runs.jsonl", ...OFF, "-o", "same", "--memory", "other"],
		["calibrate", "runs.jsonl", ...OFF, "--rows", "same", "--html", "./same"],
	]) {
		const { stderr } = await assertEnds(2, args);
		assert.match(stderr, /error: two outputs are the same file: (\.\/same|other)/);
	}
	assert.equal(readFileSync(join(folder, "same"), "utf8"), "precious");
});

test("kp-score refuses two outputs that are one new file, linked folders included", async () => {
	mkdirSync(join(folder, "place"));
	symlinkSync("place", join(folder, "linked"));
	symlinkSync("place/new", join(folder, "dangling"));
	for (const [one, other] of [
		["new", "./new"],
		["place/new", "linked/new"],
		["place/new", "dangling"],
		["place/new", "place/new.partial"],
		["place/new.lock", "place/new"],
	])
		for (const option of ["--html", "--memory"]) {
			const { stderr } = await assertEnds(2, [
				"score",
				"runs.jsonl",
				...OFF,
				"-o",
				one,
				option,
				other,
			]);
			assert.match(stderr, /error: two outputs are the same file: /);
		}
	assert.deepEqual(readdirSync(join(folder, "place")), []);
	const twice = ["select", "runs.jsonl", "--count", "1", "--novelty", "words"];
	await assertEnds(2, [...twice, "-o", "place/new", "--dropped", "linked/new"]);
});

test("kp-score refuses an output that is one of its inputs, links included", async () => {
	const log = linesOf([1, 2].map((n) => traceOf(n)));
	file("own/log.jsonl", log);
	linkSync(join(folder, "own/log.jsonl"), join(folder, "hard"));
	symlinkSync("own/log.jsonl", join(folder, "soft"));
	file("kept.jsonl", log);
	file("weights.json", "{}");
	file("labels.csv", "id,label\nt:1,1\n");
	await assertEnds(0, ["score", "own", "--store", "sqlite:own.db?create=1", "--novelty", "words"]);
	const words = ["--novelty", "words"];
	for (const [output, ...args] of [
		...["own/log.jsonl", "./own/log.jsonl", "hard", "soft"].flatMap((output) => [
			[output, "score", "own", ...OFF, "-o"],
			[output, "score", "own/*.jsonl", ...OFF, "--html"],
			[output, "score", "own/log.jsonl", ...OFF, "--memory"],
			[output, "select", "own", "--count", "1", ...words, "--dropped"],
			[output, "explain", "own", ...OFF, "-o"],
			[output, "calibrate", "own", ...OFF, "--rows"],
			[output, "compare", "own/log.jsonl", "kept.jsonl", ...OFF, "-o"],
			[output, "import", "own", "-o"],
		]),
		["labels.csv", "score", "own", "--labels", "labels.csv", ...OFF, "-o"],
		["weights.json", "score", "own", "--profiles", "weights.json", ...OFF, "-o"],
		["kept.jsonl", "select", "own", "--count", "1", "--against", "kept.jsonl", ...words, "-o"],
		["own.db", "score", "own", "--store", "sqlite:own.db", ...words, "-o"],
		["kept.jsonl", "explain", "own", "--memory", "kept.jsonl", ...OFF, "-o"],
		["own", "select", "own/log.jsonl", "--count", "1", ...words, "--copy"],
		["own.db-wal", "score", "own", "--store", "sqlite:own.db", ...words, "-o"],
	]) {
		if (output === "own.db-wal") file(output, "");
		const before = output === "own" ? log : readFileSync(join(folder, output));
		const { stderr } = await assertEnds(2, [...args, output]);
		assert.match(stderr, /error: an output is an input of the command, too: /, args.join(" "));
		const path = output === "own" ? "own/log.jsonl" : output;
		assert.equal(String(readFileSync(join(folder, path))), String(before));
	}
});

test("kp-score refuses standard output and stores yet to be made that are another of its files", async () => {
	const log = linesOf([1, 2].map((n) => traceOf(n)));
	for (const line of [
		"score - --novelty words -o twice < twice",
		"select - --count 1 --novelty words -o twice < twice",
		"score twice --novelty words >> twice",
		"explain twice --novelty words >> twice",
		"score - --novelty words -o /dev/stdout < twice >> twice",
		"score runs.jsonl --novelty words --store 'sqlite:made.db?create=1' -o made.db",
		"score runs.jsonl --novelty words --store 'sqlite:made.db?create=1' --html made.db-wal",
	]) {
		file("twice", log);
		const { code, stderr } = await shell(`kp-score ${line}`);
		assert.equal(code, 2, `${line}: ${stderr}`);
		assert.match(stderr, /^error: an output is an input of the command, too: /, line);
		assert.equal(readFileSync(join(folder, "twice"), "utf8"), log);
		assert.ok(!readdirSync(folder).includes("made.db"));
	}
	// What is found is left out.
	file("here/log.jsonl", log);
	for (const sources of ["here", "'here/*.jsonl'"]) {
		const line = `kp-score score ${sources} --novelty words > here/rows.jsonl`;
		const { code, stderr } = await shell(line);
		assert.equal(code, 0, stderr);
		assert.equal(parsed(readFileSync(join(folder, "here/rows.jsonl"), "utf8")).length, 2);
	}
});

test("kp-score writes to a file that is mounted, and so cannot be replaced", async (t) => {
	const [source, mounted] = ["source", "mounted"].map((name) => file(name, "old"));
	if (spawnSync("mount", ["--bind", source, mounted]).status !== 0) return t.skip("cannot mount");
	t.after(() => spawnSync("umount", [mounted]));
	await assertEnds(0, ["import", "runs.jsonl", "-o", "mounted"]);
	assert.equal(parsed(readFileSync(source, "utf8")).length, 3);
});

/** Arguments of commands that write a file of each kind. */
const WRITING = {
	"-o": ["score", "runs.jsonl", ...OFF, "-o", "kept/file"],
	"-o with a memory": [
		"score",
		"runs.jsonl",
		...OFF,
		"--memory",
		"kept/m",
		"--again",
		"-o",
		"kept/file",
	],
	"--html": ["score", "runs.jsonl", ...OFF, "--html", "kept/file"],
	"--memory": ["score", "runs.jsonl", ...OFF, "--memory", "kept/file"],
	"--dropped": "select runs.jsonl --novelty words --count 1 --dropped kept/file".split(" "),
};
mkdirSync(join(folder, "kept"));

for (const [kind, args] of Object.entries(WRITING))
	test(`kp-score writes ${kind} twice with --permission`, {
		skip: !process.allowedNodeEnvironmentFlags.has("--permission") && "no --permission",
	}, async () => {
		const allowed = `--permission --allow-addons --allow-fs-read=* --allow-fs-write=${folder}/*`;
		const env = { ...environment, NODE_OPTIONS: allowed };
		for (let times = 0; times < 2; times++) await assertEnds(0, args, { env });
		rmSync(join(folder, "kept"), { recursive: true });
		mkdirSync(join(folder, "kept"));
	});

test("kp-score keeps the rows beside a file that it cannot replace", async () => {
	file("kept/file", "old");
	const path = file(
		"rename.cjs",
		`const fs = require("node:fs/promises");
		const { rename } = fs;
		fs.rename = async (from, to) => {
			if (to.endsWith("file")) throw Object.assign(new Error("EPERM"), { code: "EPERM" });
			return rename(from, to);
		};`,
	);
	const env = { ...environment, NODE_OPTIONS: `--require ${path}` };
	const { stderr } = await assertEnds(1, WRITING["-o"], { env });
	assert.match(stderr, /cannot write kept.file: .*; .*file\.partial has what was to be written/);
	assert.equal(parsed(readFileSync(join(folder, "kept/file.partial"), "utf8")).length, 3);
	assert.equal(readFileSync(join(folder, "kept/file"), "utf8"), "old");
});

test("kp-score does not replace an earlier result by nothing", async () => {
	const select = "select runs.jsonl --novelty words --count 1".split(" ");
	await assertEnds(0, [...select, "-o", "kept.jsonl", "--html", "kept.html"]);
	const before = ["kept.jsonl", "kept.html"].map((name) =>
		readFileSync(join(folder, name), "utf8"),
	);
	file("failed.jsonl", linesOf([traceOf(1, { metadata: { success: false } })]));
	const args = ["select", "failed.jsonl", "--novelty", "words", "--count", "1", "--success"];
	const { stderr } = await assertEnds(0, [...args, "-o", "kept.jsonl", "--html", "kept.html"]);
	for (const name of ["kept.jsonl", "kept.html"])
		assert.match(stderr, new RegExp(`warning: nothing to write: ${name} stays as it was`));
	const after = ["kept.jsonl", "kept.html"].map((name) => readFileSync(join(folder, name), "utf8"));
	assert.deepEqual(after, before);
	// What was not there is made, and a list of dropped runs belongs to the kept ones.
	await assertEnds(0, [...args, "-o", "new.jsonl"]);
	assert.equal(readFileSync(join(folder, "new.jsonl"), "utf8"), "");
	file("dropped", "old");
	await assertEnds(0, "select runs.jsonl --novelty words --count 3 --dropped dropped".split(" "));
	assert.equal(readFileSync(join(folder, "dropped"), "utf8"), "");
});

test("kp-score leaves nothing beside the files that it writes", async () => {
	const place = join(folder, "tidy");
	mkdirSync(place);
	const to = (name) => join(place, name);
	await kpScore(["import", "runs.jsonl", "-o", to("traces.jsonl")]);
	await kpScore(["score", "runs.jsonl", ...OFF, "--memory", to("memory.kpcache")]);
	await kpScore(["calibrate", "runs.jsonl", "--rows", to("r"), "--html", to("h")]);
	// These fail after their files were opened.
	await kpScore(["score", "victim.txt", ...OFF, "-o", to("e"), "--memory", to("m")]);
	await kpScore(["calibrate", "victim.txt", "--rows", to("w"), "--html", to("x"), "-o", to("y")]);
	await kpScore(["compare", "victim.txt", "victim.txt", "-o", to("z")]);
	const left = readdirSync(place).filter(
		(name) => process.platform !== "win32" || !name.endsWith(".lock"),
	);
	assert.deepEqual(left.sort(), ["h", "memory.kpcache", "r", "traces.jsonl"]);
});

test("kp-score writes to a device", async () => {
	const { stdout } = await shell("kp-score import runs.jsonl -o /dev/stdout | cat");
	assert.equal(parsed(stdout).length, 3);
	symlinkSync("/proc/self/fd/1", join(folder, "descriptor"));
	await shell("kp-score import runs.jsonl -o descriptor > redirected.jsonl");
	await shell("kp-score import runs.jsonl -o /dev/stdout >> redirected.jsonl");
	assert.equal(parsed(readFileSync(join(folder, "redirected.jsonl"), "utf8")).length, 6);
});

for (const [command, ...args] of [
	["score", "runs.jsonl", ...OFF],
	["explain", "runs.jsonl", ...OFF],
	["import", "runs.jsonl"],
	["compare", "runs.jsonl", "runs.jsonl", ...OFF],
	["calibrate", "runs.jsonl"],
])
	test(`kp-score ${command} writes what -o names`, async () => {
		const named = await assertEnds(0, [command, ...args, "-o", `${command}.out`]);
		assert.equal(named.stdout, "");
		assert.match(named.stderr, new RegExp(`written to ${command}\\.out`));
		const { stdout } = await kpScore([command, ...args]);
		const plain = (text) => text.replaceAll(/"timesMs":\{[^}]*\}/g, "");
		assert.equal(plain(readFileSync(join(folder, `${command}.out`), "utf8")), plain(stdout));
	});

test("kp-score checks the folder of --memory before it scores", async () => {
	for (const command of ["score", "explain"]) {
		const args = [command, "runs.jsonl", ...OFF, "--memory", join("missing", "m.kpcache")];
		const { stdout, stderr } = await assertEnds(2, args);
		assert.equal(stdout, "");
		assert.match(stderr, /^error: cannot (read|write) missing.m\.kpcache: /);
	}
});

for (const code of ["EPIPE", "EOF"])
	test(`Output takes ${code} for the end of the reader`, async () => {
		const output = new Output(
			new PassThrough({
				write(_chunk, _encoding, done) {
					done(Object.assign(new Error(`write ${code}`), { code }));
				},
			}),
		);
		await output.write("a\n");
		await new Promise(setImmediate);
		await output.write("b\n");
		await output.commit();
		assert.equal(output.isClosed, true);
	});
