import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { status } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const checkout = fileURLToPath(new URL("../..", import.meta.url));

const manifest = JSON.parse(readFileSync(join(checkout, "package.json")));

/** The folder of this system's platform package in the checkout, and its name. */
const built = dirname(status().embedder.model);

const platform = built.slice(join(checkout, "npm").length + 1);

/** Installs the main package without a platform package, until the test is over. */
function installation(t) {
	const folder = temporaryFolder(t);
	const modules = join(folder, "node_modules");
	const scope = join(modules, "@knowledgepulse");
	for (const file of [...manifest.files, "package.json"])
		cpSync(join(checkout, file), join(scope, "scoring", file), { recursive: true });
	const dependency = join("node_modules", "detect-libc");
	cpSync(join(checkout, dependency), join(folder, dependency), { recursive: true });
	return {
		modules,
		/** The folder of a platform package. */
		place: (name) => join(scope, `scoring-${name}`),
		entry: join(scope, "scoring", "index.js"),
	};
}

/** Loads an installation: the score of a trace, or the error. */
function load(entry, pretend = {}) {
	return valueFrom(
		async ({ input }) => {
			const { createRequire } = await import("node:module");
			const require = createRequire(input.entry);
			const { libc, ...properties } = input.pretend;
			for (const [name, value] of Object.entries(properties))
				Object.defineProperty(process, name, { value });
			if (libc) require("detect-libc").familySync = () => libc;
			try {
				const { evaluateValue, status } = require(input.entry);
				const score = await evaluateValue({
					task: { objective: "load" },
					metadata: { task_domain: "code", success: true },
					steps: [],
					outcome: { confidence: 1 },
				});
				return { score, status: status() };
			} catch ({ name, code, message, cause }) {
				return { name, code, message, cause: cause?.code };
			}
		},
		{ preload: false, input: { entry, pretend } },
	);
}

const command = (name) => `npm install @knowledgepulse/scoring-${name}@${manifest.version}`;

test("the addon is found beside the main package", async (t) => {
	const { entry, place } = installation(t);
	symlinkSync(built, place(platform));
	const { score, status } = await load(entry);
	assert.equal(score, 0.35);
	assert.equal(status.embedder.state, "ready");
	assert.equal(status.embedder.model, join(built, "model"));
});

test("model and library are found outside of an archive of Electron", async (t) => {
	const archive = join(installation(t).modules, "..", "app.asar");
	cpSync(join(archive, "..", "node_modules"), join(archive, "node_modules"), { recursive: true });
	const scope = join("node_modules", "@knowledgepulse");
	// Electron shows files beside its archive as if in it.
	const addon = join(scope, `scoring-${platform}`, `scoring.${platform}.node`);
	cpSync(join(built, basename(addon)), join(archive, addon));
	const onDisk = join(`${archive}.unpacked`, dirname(addon));
	mkdirSync(dirname(onDisk), { recursive: true });
	symlinkSync(built, onDisk);
	const { status } = await load(join(archive, scope, "scoring", "index.js"));
	assert.deepEqual([status.embedder.state, status.embedder.reason], ["ready", null]);
	assert.equal(status.embedder.model, join(onDisk, "model"));
});

test("ADDON_NOT_FOUND names the missing package, where it was searched, and the command", async (t) => {
	const { entry, modules } = installation(t);
	const { name, code, message } = await load(entry);
	assert.deepEqual([name, code], ["ScoringError", "ADDON_NOT_FOUND"]);
	assert.ok(message.includes(`@knowledgepulse/scoring-${platform},`));
	assert.ok(message.includes(modules), message);
	assert.match(message, /--omit=optional/);
	assert.ok(message.endsWith(`\n  ${command(platform)}`), message);
});

test("ADDON_NOT_FOUND names packages of other systems", async (t) => {
	const { entry, place } = installation(t);
	mkdirSync(place("darwin-arm64"));
	mkdirSync(place("win32-x64-msvc"));
	const { code, message } = await load(entry, { platform: "linux", arch: "arm64", libc: "glibc" });
	assert.equal(code, "ADDON_NOT_FOUND");
	assert.match(
		message,
		/Found instead: @knowledgepulse\/scoring-darwin-arm64, @knowledgepulse\/scoring-win32-x64-msvc\. /,
	);
	assert.doesNotMatch(message, /--omit=optional/);
	assert.ok(message.endsWith(command("linux-arm64-gnu")), message);
});

test("ADDON_NOT_FOUND names a damaged addon, with the cause", async (t) => {
	const { entry, place } = installation(t);
	const addon = `scoring.${platform}.node`;
	mkdirSync(place(platform));
	cpSync(join(built, "package.json"), join(place(platform), "package.json"));
	writeFileSync(join(place(platform), addon), "no library");
	const { code, message, cause } = await load(entry);
	assert.deepEqual([code, cause], ["ADDON_NOT_FOUND", "ERR_DLOPEN_FAILED"], message);
	assert.ok(message.includes(join(place(platform), addon)), message);
	assert.ok(message.endsWith(command(platform)), message);
});

test("ADDON_NOT_FOUND names an incomplete package", async (t) => {
	const { entry, place } = installation(t);
	mkdirSync(place(platform));
	cpSync(join(built, "package.json"), join(place(platform), "package.json"));
	const { code, message } = await load(entry);
	assert.equal(code, "ADDON_NOT_FOUND");
	assert.match(message, /is incomplete/);
	assert.ok(message.includes(place(platform)), message);
	assert.ok(message.endsWith(command(platform)), message);
});

const rows = [
	["linux", "x64", "glibc", "linux-x64-gnu"],
	["linux", "x64", "musl", "linux-x64-musl"],
	["linux", "arm64", "musl", "linux-arm64-musl"],
	["darwin", "arm64", undefined, "darwin-arm64"],
	["darwin", "x64", undefined, "darwin-x64"],
	["win32", "x64", undefined, "win32-x64-msvc"],
	["win32", "arm64", undefined, "win32-arm64-msvc"],
];

for (const [system, arch, libc, name] of rows)
	test(`ADDON_NOT_FOUND asks for ${name} on ${system} ${arch} ${libc ?? ""}`, async (t) => {
		const { entry } = installation(t);
		const pretend = { platform: system, arch, libc };
		const { code, message } = await load(entry, pretend);
		assert.equal(code, "ADDON_NOT_FOUND");
		assert.ok(message.endsWith(command(name)), message);
	});

test("ADDON_NOT_FOUND says that there is no package for a system", async (t) => {
	const { entry } = installation(t);
	for (const pretend of [
		{ platform: "freebsd", arch: "x64" },
		{ platform: "linux", arch: "riscv64", libc: "glibc" },
	]) {
		const { code, message } = await load(entry, pretend);
		assert.equal(code, "ADDON_NOT_FOUND");
		assert.match(message, /there is no package for (freebsd-x64|linux-riscv64-gnu)\. /);
		assert.doesNotMatch(message, /npm install/);
	}
});

const require = createRequire(import.meta.url);

for (const entry of ["", "/logs", "/calibrate"])
	test(`@knowledgepulse/scoring${entry} exports the same to ES modules and CommonJS`, async () => {
		const scoring = await import(`@knowledgepulse/scoring${entry}`);
		const commonJs = require(`@knowledgepulse/scoring${entry}`);
		assert.deepEqual(Object.keys(scoring).sort(), Object.keys(commonJs).sort());
		for (const [name, exported] of Object.entries(scoring))
			assert.equal(exported, commonJs[name], name);
	});
