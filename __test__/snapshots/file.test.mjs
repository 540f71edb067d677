import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const { openReplacement, replaceFile } = createRequire(import.meta.url)("../../lib/file.js");

const folder = await fs.mkdtemp(join(tmpdir(), "kp-file-test-"));
after(() => fs.rm(folder, { recursive: true, force: true }));
const path = join(folder, "file");

/** Runs `run` as on a platform on which the first `failures` renames fail. */
async function renaming(t, { platform, code, failures }, run) {
	const { rename } = fs;
	let calls = 0;
	const own = Object.getOwnPropertyDescriptor(process, "platform");
	Object.defineProperty(process, "platform", { ...own, value: platform });
	t.mock.method(fs, "rename", async (...paths) => {
		calls += 1;
		if (calls <= failures) throw Object.assign(new Error(`rename: ${code}`), { code });
		return rename(...paths);
	});
	try {
		await run();
	} finally {
		Object.defineProperty(process, "platform", own);
	}
	return calls;
}

for (const code of ["EACCES", "EBUSY", "EPERM"])
	test(`replaceFile tries again on Windows while a rename fails with ${code}`, async (t) => {
		const calls = await renaming(t, { platform: "win32", code, failures: 2 }, () =>
			replaceFile(path, Buffer.from(code)),
		);
		assert.equal(calls, 3);
		assert.equal(await fs.readFile(path, "utf8"), code);
	});

for (const [platform, code] of [
	["win32", "ENOSPC"],
	["linux", "EPERM"],
])
	test(`replaceFile fails at once with ${code} on ${platform}, and keeps the old file`, async (t) => {
		await fs.writeFile(path, "old");
		const calls = await renaming(t, { platform, code, failures: 1 }, () =>
			assert.rejects(replaceFile(path, Buffer.from("new")), { code }),
		);
		assert.equal(calls, 1);
		assert.equal(await fs.readFile(path, "utf8"), "old");
		assert.deepEqual(await fs.readdir(folder), ["file"]);
	});

test("replaceFile gives up on Windows where a file stays in use", async (t) => {
	await fs.writeFile(path, "old");
	const failures = Number.POSITIVE_INFINITY;
	await renaming(t, { platform: "win32", code: "EBUSY", failures }, () =>
		assert.rejects(replaceFile(path, Buffer.from("new")), { code: "EBUSY" }),
	);
	assert.deepEqual(await fs.readdir(folder), ["file"]);
});

test("openReplacement writes in pieces, and discards what is not committed", async () => {
	await fs.writeFile(path, "old");
	const discarded = await openReplacement(path, 0o600);
	await discarded.write("never seen");
	await discarded.discard();
	assert.equal(await fs.readFile(path, "utf8"), "old");
	const committed = await openReplacement(path, 0o600);
	await committed.write("one, ");
	await committed.write(Buffer.from("two"));
	assert.equal(await fs.readFile(path, "utf8"), "old");
	await committed.commit();
	await committed.discard();
	assert.equal(await fs.readFile(path, "utf8"), "one, two");
	assert.deepEqual(await fs.readdir(folder), ["file"]);
});
