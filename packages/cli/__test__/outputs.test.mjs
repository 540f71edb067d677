import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import {
	assertEnds,
	file,
	folder,
	kpScore,
	linesOf,
	OFF,
	parsed,
	shell,
	traceOf,
} from "./support.mjs";

const { Output, openFile } = createRequire(import.meta.url)("../lib/output.js");

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

test("kp-score replaces a link to a file, and leaves the file as it is", async () => {
	const victim = file("linked.txt", "precious");
	symlinkSync("linked.txt", join(folder, "link.jsonl"));
	await assertEnds(0, ["import", "runs.jsonl", "-o", "link.jsonl"]);
	assert.equal(readFileSync(victim, "utf8"), "precious");
	assert.equal(parsed(readFileSync(join(folder, "link.jsonl"), "utf8")).length, 3);
});

test("openFile separates two writers of one file in one process", async () => {
	const path = join(folder, "shared.txt");
	const [a, b] = [await openFile(path), await openFile(path)];
	await Promise.all([a.write("first\n"), b.write("second\n")]);
	await a.write("first\n");
	await a.commit();
	assert.equal(readFileSync(path, "utf8"), "first\nfirst\n");
	await b.commit();
	assert.equal(readFileSync(path, "utf8"), "second\n");
});

test("kp-score leaves nothing beside the files that it writes", async () => {
	const place = join(folder, "tidy");
	mkdirSync(place);
	const to = (name) => join(place, name);
	await kpScore(["import", "runs.jsonl", "-o", to("traces.jsonl")]);
	await kpScore(["score", "runs.jsonl", ...OFF, "--memory", to("memory.kpcache")]);
	await kpScore(["calibrate", "runs.jsonl", "--rows", to("r"), "--html", to("h")]);
	// These fail after their files were opened.
	await kpScore(["score", "victim.txt", ...OFF, "--emit-otel", to("e"), "--memory", to("m")]);
	await kpScore(["calibrate", "victim.txt", "--rows", to("w"), "--html", to("x"), "-o", to("y")]);
	await kpScore(["compare", "victim.txt", "victim.txt", "-o", to("z")]);
	assert.deepEqual(readdirSync(place).sort(), ["h", "memory.kpcache", "r", "traces.jsonl"]);
});

test("kp-score writes to a device", async () => {
	const { stdout, stderr } = await shell("kp-score import runs.jsonl -o /dev/stdout | cat");
	assert.match(stderr, /written to/);
	assert.equal(parsed(stdout).length, 3);
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
