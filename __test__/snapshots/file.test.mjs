import assert from "node:assert/strict";
import {
	chmodSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
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
