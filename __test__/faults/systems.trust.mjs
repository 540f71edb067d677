/** Read-only systems, and libraries of other releases. */

import assert from "node:assert/strict";
import { chmodSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { digest, once } from "../../tools/lib/cache.mjs";
import { npm, root, run } from "../../tools/lib/run.mjs";
import { assertEndedWell } from "../support/child.mjs";
import { library, nodeLibrary, temporaryFolder } from "../support/model-folder.mjs";
import {
	asNobody,
	CONFIGURATIONS,
	call,
	environment,
	judge,
	quietly,
	rightScores,
	works,
} from "./outcomes.mjs";

/** Shell commands in a mount namespace of its own; `$0` is the checkout. */
const SETUPS = {
	"a file system that can only be read": `
for place in $(findmnt -rno TARGET); do
  case $place in /proc*|/sys*|/dev*) ;; *) mount -o remount,bind,ro "$place" ;; esac
done`,
	"no /tmp": `
mount --rbind "$0" /mnt
mount -t tmpfs -o ro,size=4k none /tmp
cd /mnt/__test__`,
};

/** A command that runs another one in a mount namespace, after `setup`; undefined without namespaces. */
function mounted(setup) {
	const script = `set -e\nmount --make-rprivate /${setup}\nexec "$@"`;
	return ["-m", "-rm"]
		.map((options) => ["unshare", options, "sh", "-c", script, root])
		.find((under) => works(under));
}

async function assertScores(configuration, { env, folders = [], under }) {
	const options = { input: folders, under, env: { ...environment(configuration), ...env } };
	const { found, writable, saved } = await quietly("scoreAndWrite", options);
	assert.equal(judge(found, await rightScores(configuration)), "right");
	assert.deepEqual(writable, []);
	return saved;
}

for (const configuration of CONFIGURATIONS)
	describe(`a system on which nothing can be written, ${configuration.name}`, () => {
		for (const [what, setup] of Object.entries(SETUPS))
			test(`the scores are right with ${what}`, async (t) => {
				const under = mounted(setup);
				if (!under) return t.skip("no mount namespaces");
				const saved = await assertScores(configuration, { under, folders: ["/tmp"] });
				assert.equal(saved, "SNAPSHOT_IO");
			});

		test("the scores are right with no home and no TMPDIR", () => {
			const nowhere = "/nonexistent";
			const env = { HOME: nowhere, TMPDIR: nowhere, XDG_CACHE_HOME: nowhere };
			return assertScores(configuration, { env, folders: [nowhere] });
		});

		test("the scores are right without HOME, USER, TMPDIR and PATH", () => {
			const under = ["env", "-u", "HOME", "-u", "USER", "-u", "TMPDIR", "-u", "PATH"];
			return assertScores(configuration, { under });
		});
	});

/** Fails unless `probe` ends as `expected` with a library, in a fresh process. Another release may sum in another order. */
async function assertOutcome(expected, file, under) {
	const [configuration] = CONFIGURATIONS;
	const env = { ...environment(configuration), KNOWLEDGEPULSE_SCORING_LIBRARY: file };
	const ended = await call("probeQuietly", { under, env });
	assertEndedWell(ended);
	assert.equal(judge(ended.value, await rightScores(configuration), file, 2e-6), expected);
}

test("the embedder is unavailable with a library that may not be read", async (t) => {
	const under = asNobody();
	if (process.getuid?.() === 0 && !under) return t.skip("root reads everything");
	const folder = temporaryFolder(t);
	const file = join(folder, "unreadable");
	copyFileSync(library, file);
	chmodSync(file, 0);
	chmodSync(folder, 0o755);
	await assertOutcome("unavailable", file, under);
});

/** The last releases that are too old, and the first that is not. PyPI has no library of these. */
const RELEASES = {
	"1.14.0":
		"sha512-5ba7TWomIV/9b6NH/1x/8QEeowsb+jBEvFzU6z0T4mNsFwdPqXeFUM7uxC6QeSRkEbWu3qEB0VMjrvzN/0S9+w==",
	"1.16.3":
		"sha512-6T2pjwg5ik74VnI1IXFzxvPAm2UCo+vNNsDGbMP+A2q6GZPMYai2pMA17g3YMUvgOZLwsjWBUwNIlP4QaVRFlA==",
	"1.17.0":
		"sha512-pRxdqSP3a6wtiFVkVX1V3/gsEMwBRUA9D2oYmcN3cjF+j+ILS+SIY2L7KxdWapsG6z64i5rUn8ijFZdIvbojBg==",
};

for (const [version, integrity] of Object.entries(RELEASES)) {
	const expected = version.startsWith("1.17") ? "right" : "unavailable";
	test(`the embedder is ${expected} with ONNX Runtime ${version}`, async () => {
		const name = `onnxruntime-node-${version}`;
		const folder = once(name, (target) => {
			npm(["pack", "--silent", "--pack-destination", target, `onnxruntime-node@${version}`]);
			const file = join(target, `${name}.tgz`);
			assert.equal(`sha512-${digest("sha512", file, "base64")}`, integrity);
			run("tar", ["-xzf", file], { cwd: target });
		});
		const library = nodeLibrary(`${process.platform}/${process.arch}`, join(folder, "package"));
		await assertOutcome(expected, library);
	});
}
