import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../../__test__/support/model-folder.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));

for (const [name, entry] of [
	["stores", "sqlite"],
	["stores", "postgres"],
	["otel", "lib/options.js"],
])
	test(`scoring-${name} ${entry} refuses a scoring package of another version`, (t) => {
		const scope = join(temporaryFolder(t), "node_modules/@knowledgepulse");
		const copy = join(scope, `scoring-${name}`);
		mkdirSync(dirname(copy), { recursive: true });
		cpSync(join(root, "packages", name), copy, {
			recursive: true,
			filter: (path) => !/node_modules|__test__/.test(path),
		});
		symlinkSync(root, join(scope, "scoring"), "junction");
		const manifest = JSON.parse(readFileSync(join(copy, "package.json"), "utf8"));
		writeFileSync(join(copy, "package.json"), JSON.stringify({ ...manifest, version: "0.0.9" }));
		assert.throws(() => createRequire(join(scope, "x.js"))(join(copy, entry)), {
			name: "ScoringError",
			code: "VERSION_MISMATCH",
			message: `@knowledgepulse/scoring-${name}: expected version ${manifest.version}, that of @knowledgepulse/scoring, got 0.0.9`,
		});
	});
