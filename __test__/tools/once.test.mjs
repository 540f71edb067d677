import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { once } from "../../tools/lib/cache.mjs";

const module = (path) => import.meta.resolve(`../../tools/${path}`);

/** An empty folder for the tools of this test. */
function emptyCache(t) {
	const folder = mkdtempSync(join(tmpdir(), "scoring once "));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	process.env.KNOWLEDGEPULSE_CACHE = folder;
	return folder;
}

const write = (folder, text) => writeFileSync(join(folder, "tool"), text);

test("once fills a folder a single time", (t) => {
	const cache = emptyCache(t);
	let filled = 0;
	const fill = (folder) => write(folder, String(++filled));
	for (let i = 0; i < 2; i++) {
		const folder = once("one", fill);
		assert.equal(readFileSync(join(folder, "tool"), "utf8"), "1");
	}
	assert.deepEqual(readdirSync(cache), ["one"]);
});

test("once keeps nothing of a folder whose filling throws", (t) => {
	const cache = emptyCache(t);
	const half = (folder) => {
		write(folder, "half");
		throw new Error("no network");
	};
	assert.throws(() => once("one", half), /no network/);
	assert.deepEqual(readdirSync(cache), []);
	const folder = once("one", (target) => write(target, "whole"));
	assert.equal(readFileSync(join(folder, "tool"), "utf8"), "whole");
});

test("once fills a folder again after a process was killed while it did", (t) => {
	emptyCache(t);
	const killed = spawnSync(process.execPath, [
		"--input-type=module",
		"--eval",
		`import { writeFileSync } from "node:fs";
		import { once } from ${JSON.stringify(module("lib/cache.mjs"))};
		once("one", (folder) => {
			writeFileSync(folder + "/tool", "half");
			process.kill(process.pid, "SIGKILL");
		});`,
	]);
	assert.equal(killed.signal, "SIGKILL", String(killed.stderr));
	const folder = once("one", (target) => write(target, "whole"));
	assert.equal(readFileSync(join(folder, "tool"), "utf8"), "whole");
});

test("the install matrix installs its tools again after an interrupted installation", (t) => {
	const cache = emptyCache(t);
	const programs = join(cache, "programs");
	mkdirSync(programs);
	// Leaves what npm would, but for the tools, and fails.
	const npm = `#!/bin/sh
mkdir -p node_modules && touch node_modules/.package-lock.json && echo run >>"$COUNT" && exit 1
`;
	writeFileSync(join(programs, "npm"), npm);
	chmodSync(join(programs, "npm"), 0o755);
	const count = join(cache, "count");
	const PATH = `${programs}${delimiter}${process.env.PATH}`;
	const args = [
		"--input-type=module",
		"--eval",
		`import ${JSON.stringify(module("install-matrix/tools.mjs"))}`,
	];
	for (const runs of [1, 2]) {
		const env = { ...process.env, COUNT: count, PATH };
		const { status } = spawnSync(process.execPath, args, { env });
		assert.equal(status, 1);
		assert.ok(existsSync(count));
		assert.equal(readFileSync(count, "utf8"), "run\n".repeat(runs));
	}
	assert.deepEqual(readdirSync(cache).sort(), ["count", "programs"]);
});
