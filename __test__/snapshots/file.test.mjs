import assert from "node:assert/strict";
import {
	chmodSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { assertEndedWell, run } from "../support/child.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const { replaceFile } = createRequire(import.meta.url)("../../lib/file.js");

const folder = temporaryFolder({ after });
const at = (name) => join(folder, name);
const skip = process.platform === "win32" && "no links and modes";

test("replaceFile writes the target of links, which may not exist", { skip }, async () => {
	writeFileSync(at("target"), "old");
	for (const [link, target] of [
		["link", "target"],
		["chain", "link"],
		["dangling", "absent"],
	])
		symlinkSync(target, at(link));
	await replaceFile(at("chain"), "new");
	await replaceFile(at("dangling"), "new");
	const found = ["target", "absent"].map((name) => readFileSync(at(name), "utf8"));
	assert.deepEqual(found, ["new", "new"]);
	assert.deepEqual(readdirSync(folder).sort(), ["absent", "chain", "dangling", "link", "target"]);
});

test("replaceFile keeps the mode of a file, and gives a new one to its owner only", {
	skip,
}, async () => {
	for (const mode of [0o600, 0o644, 0o640]) {
		writeFileSync(at("file"), "old");
		chmodSync(at("file"), mode);
		await replaceFile(at("file"), "new");
		assert.equal(statSync(at("file")).mode & 0o777, mode);
	}
	await replaceFile(at("own"), "new");
	assert.equal(statSync(at("own")).mode & 0o777, 0o600);
});

test("replaceFile writes to a device in place", { skip }, async () => {
	symlinkSync("/dev/null", at("null"));
	await replaceFile(at("null"), "new");
	assert.ok(statSync("/dev/null").isCharacterDevice());
});

/** Makes a method of file handles fail with a code. */
async function failing(t, name, code) {
	const file = await open(at("any"), "w");
	const prototype = Object.getPrototypeOf(file);
	await file.close();
	rmSync(at("any"));
	t.mock.method(prototype, name, () => Promise.reject(Object.assign(new Error(code), { code })));
}

for (const name of ["chmod", "chown", "sync"])
	for (const code of ["EPERM", "ENOSYS", "ENOTSUP", "EINVAL", "ERR_ACCESS_DENIED"])
		test(`replaceFile needs no ${name} where that fails with ${code}`, { skip }, async (t) => {
			writeFileSync(at("file"), "old");
			chmodSync(at("file"), 0o600);
			await failing(t, name, code);
			await replaceFile(at("file"), "new");
			assert.equal(readFileSync(at("file"), "utf8"), "new");
			assert.equal(statSync(at("file")).mode & 0o777, 0o600);
		});

for (const code of ["EIO", "ENOSPC"])
	test(`replaceFile leaves the old file if its sync fails with ${code}`, async (t) => {
		writeFileSync(at("file"), "old");
		const before = readdirSync(folder);
		await failing(t, "sync", code);
		await assert.rejects(replaceFile(at("file"), "new"), { code });
		assert.equal(readFileSync(at("file"), "utf8"), "old");
		assert.deepEqual(readdirSync(folder), before);
	});

test("Scorer.save replaces a file although --permission forbids its sync and permissions", {
	skip: !process.allowedNodeEnvironmentFlags.has("--permission") && "no --permission",
}, async () => {
	const file = join(folder, "permitted");
	const allowed = ["--allow-addons", "--allow-fs-read=*", `--allow-fs-write=${folder}/*`];
	const ended = await run(
		async ({ scoring, input }) => {
			const scorer = new scoring.Scorer({ embedder: "off" });
			await scorer.save(input);
			await scorer.save(input);
			return scorer.status().cacheSize;
		},
		{ input: file, execArgv: ["--permission", ...allowed] },
	);
	assertEndedWell(ended);
	assert.equal(ended.value, 0);
});
