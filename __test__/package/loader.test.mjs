import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { status } from "@knowledgepulse/scoring";
import { valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

const checkout = fileURLToPath(new URL("../..", import.meta.url));

const manifest = JSON.parse(readFileSync(join(checkout, "package.json")));

/** The folder of this system's platform package in the checkout, and its name. */
const built = dirname(status().embedder.model);

const platform = built.slice(join(checkout, "npm").length + 1);

const value = trace({ domain: "code", confidence: 1, steps: [] });

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
function load(entry, pretend = {}, execArgv = []) {
	return valueFrom(
		async ({ input }) => {
			const { createRequire } = await import("node:module");
			const require = createRequire(input.entry);
			const { libc, user, isElectron, ...properties } = input.pretend;
			if (user) process.setuid(user);
			for (const [name, value] of Object.entries(properties))
				Object.defineProperty(process, name, { value });
			const { dlopen } = process;
			if (isElectron)
				process.dlopen = (module, file, ...rest) =>
					dlopen(module, file.replace("app.asar", "app.asar.unpacked"), ...rest);
			// In the head of the executable, or as its package finds out by other means.
			if (libc) require("node:fs").readSync = (_, head) => head.write(libc);
			if (libc) require("detect-libc").familySync = () => libc;
			try {
				const { evaluateValue, status } = require(input.entry);
				return { score: await evaluateValue(input.value), status: status() };
			} catch ({ name, code, message, cause }) {
				return { name, code, message, cause: cause?.code };
			}
		},
		{ preload: false, execArgv, input: { entry, pretend, value } },
	);
}

/** Loads an installation that names the command to install an addon; returns the message and the cause. */
async function refusal(entry, pretend, name = platform) {
	const { code, message, cause } = await load(entry, pretend);
	assert.equal(code, "ADDON_NOT_FOUND");
	const command = `\n  npm install @knowledgepulse/scoring-${name}@${manifest.version}`;
	assert.ok(message.endsWith(command), message);
	return { message, cause };
}

/** An installation with nothing but the main package. */
const bare = installation({ after });

test("the addon is found beside the main package", async (t) => {
	const { entry, place } = installation(t);
	symlinkSync(built, place(platform));
	const { score, status } = await load(entry);
	assert.equal(score, 0.35);
	assert.equal(status.embedder.state, "ready");
	assert.equal(status.embedder.model, join(built, "model"));
});

/** Puts a package with empty libraries of this platform into a folder of packages; returns its folder. */
function putRuntime(modules, platform = process.platform, names = ["libonnxruntime.so.1"]) {
	const folder = join(modules, "onnxruntime-node");
	const place = join(folder, "bin", "napi-v9", platform, process.arch);
	mkdirSync(place, { recursive: true });
	writeFileSync(join(folder, "package.json"), '{ "version": "1.99.0" }');
	for (const name of names) writeFileSync(join(place, name), "");
	return place;
}

/** What lib/runtime.js of an installation finds. */
const findRuntime = (entry, { program, ...pretend } = {}) =>
	valueFrom(
		async ({ input: { entry, program, libc, pretend } }) => {
			const { createRequire } = await import("node:module");
			const require = createRequire(entry);
			process.argv[1] = program;
			for (const [name, value] of Object.entries(pretend))
				Object.defineProperty(process, name, { value });
			if (libc) require("node:fs").readSync = (_, head) => head.write(libc);
			return require("./lib/runtime.js")();
		},
		{
			preload: false,
			input: { entry, program, libc: pretend.libc, pretend: { ...pretend, libc: undefined } },
		},
	);

test("ONNX Runtime is found in onnxruntime-node of the application, else of the package", async (t) => {
	const { entry, modules } = installation(t);
	const program = join(temporaryFolder(t), "program.mjs");
	const names = ["libonnxruntime.so.1.99.0", "libonnxruntime_providers_shared.so"];
	const own = putRuntime(modules, process.platform, [...names, "libonnxruntime.so.1"]);
	const found = (place) => ({ library: join(place, "libonnxruntime.so.1"), version: "1.99.0" });
	assert.deepEqual(await findRuntime(entry), found(own));
	assert.deepEqual(await findRuntime(entry, { program }), found(own));
	const others = putRuntime(join(dirname(program), "node_modules"));
	assert.deepEqual(await findRuntime(entry, { program }), found(others));
});

for (const [what, platform, pretend, reason] of [
	[
		"is not installed",
		undefined,
		{},
		/^onnxruntime-node is not installed; .*: npm install onnxruntime-node;/,
	],
	[
		"has no library of the system",
		"sunos",
		{},
		/onnxruntime-node \(1\.99\.0\) has none for \w+ \w+; .*: npm install/,
	],
	[
		"has none for macOS x64",
		"sunos",
		{ platform: "darwin", arch: "x64" },
		/install onnxruntime-node@1\.23;/,
	],
	[
		"cannot be for musl",
		"linux",
		{ platform: "linux", libc: "/lib/ld-musl-x86_64.so.1" },
		/^there is none for musl/,
	],
])
	test(`ONNX Runtime is missing with a reason where onnxruntime-node ${what}`, async (t) => {
		const { entry, modules } = installation(t);
		if (platform) putRuntime(modules, platform);
		assert.match((await findRuntime(entry, pretend)).reason, reason);
	});

test("LIBRARY_UNAVAILABLE says what to install when ONNX Runtime is needed, and no sooner", async (t) => {
	const { entry, modules, place } = installation(t);
	symlinkSync(built, place(platform));
	const body = async ({ input }) => {
		const { createRequire } = await import("node:module");
		const { Scorer } = createRequire(input.entry)(input.entry);
		const custom = { model: "data/custom-model", pooling: "mean" };
		const codes = [];
		for (const options of [{}, { backend: "onnx" }, custom]) {
			const scorer = new Scorer({ ...options, embedder: "required" });
			const { library } = scorer.status().embedder;
			const { code, message } = await scorer.embed("text").catch((error) => error);
			codes.push([library, code, message]);
		}
		for (let count = 0; count < 2; count++)
			codes.push((await new Scorer(custom).explainValue(input.value)).novelty.source);
		input.install && (await import("node:fs")).symlinkSync(...input.install);
		await new Promise((resolve) => setTimeout(resolve, 1_100));
		codes.push((await new Scorer(custom).explainValue(input.value)).novelty.source);
		return codes;
	};
	const install = [
		join(checkout, "node_modules/onnxruntime-node"),
		join(modules, "onnxruntime-node"),
	];
	const input = { entry, value, install };
	const [[, none], ...needed] = await valueWithoutEmbedder(body, { preload: false, input });
	const last = needed.splice(2);
	assert.equal(none, undefined);
	for (const [library, code, message] of needed) {
		assert.deepEqual([library, code], [null, "LIBRARY_UNAVAILABLE"]);
		assert.match(message, /onnxruntime-node is not installed; .*: npm install onnxruntime-node;/);
	}
	assert.deepEqual(last, ["no-embedder", "no-embedder", "empty-cache"], "one warning");
});

test("the main package loads the files that a first score needs, and no other", async (t) => {
	const { entry, place } = installation(t);
	symlinkSync(built, place(platform));
	const loaded = await valueFrom(
		async ({ input }) => {
			const { createRequire } = await import("node:module");
			const require = createRequire(input.entry);
			await require(input.entry).evaluateValue(input.value);
			return Object.keys(require.cache);
		},
		{ preload: false, input: { entry, value } },
	);
	const modules = "api binding errors native options scorer signals trace vector-cache";
	const own = modules.split(" ");
	const scripts = [entry, ...own.map((name) => join(dirname(entry), "lib", `${name}.js`))];
	const addon = ["index.js", `scoring.${platform}.node`].map((name) => join(place(platform), name));
	assert.deepEqual(loaded.sort(), [...scripts, ...addon].sort());
});

test("model and library are found outside of an archive of Electron", async (t) => {
	const { modules } = installation(t);
	const archive = join(modules, "..", "app.asar");
	cpSync(modules, join(archive, "node_modules"), { recursive: true });
	const scope = join("node_modules", "@knowledgepulse");
	// Electron shows files beside its archive as if in it, and loads addons from there.
	const inside = join(archive, scope, `scoring-${platform}`);
	const onDisk = join(`${archive}.unpacked`, scope, `scoring-${platform}`);
	for (const file of ["index.js", `scoring.${platform}.node`])
		cpSync(join(built, file), join(inside, file));
	cpSync(built, onDisk, { recursive: true });
	putRuntime(join(archive, "node_modules"));
	const entry = join(archive, scope, "scoring", "index.js");
	const { library } = await findRuntime(entry);
	assert.ok(library.startsWith(join(`${archive}.unpacked`, "node_modules")), library);
	const { status } = await load(entry, { isElectron: true });
	assert.deepEqual([status.embedder.state, status.embedder.reason], ["ready", null]);
	assert.equal(status.embedder.model, join(onDisk, "model"));
});

test("ADDON_NOT_FOUND names the missing package, where it was searched, and the command", async () => {
	assert.equal((await load(bare.entry)).name, "ScoringError");
	const { message } = await refusal(bare.entry);
	assert.ok(message.includes(`@knowledgepulse/scoring-${platform},`));
	assert.ok(message.includes(bare.modules), message);
	assert.match(message, /--omit=optional/);
});

test("ADDON_NOT_FOUND names packages of other systems", async (t) => {
	const { entry, place } = installation(t);
	mkdirSync(place("darwin-arm64"));
	mkdirSync(place("win32-x64-msvc"));
	const pretend = { platform: "linux", arch: "arm64", libc: "glibc" };
	const { message } = await refusal(entry, pretend, "linux-arm64-gnu");
	assert.match(
		message,
		/Found instead: @knowledgepulse\/scoring-darwin-arm64, @knowledgepulse\/scoring-win32-x64-msvc\. /,
	);
	assert.doesNotMatch(message, /--omit=optional/);
});

test("ADDON_NOT_FOUND names no package of which only a link is there", async (t) => {
	const { entry, place } = installation(t);
	for (const name of [platform, "darwin-x64"]) symlinkSync(join(place(name), "gone"), place(name));
	const { message } = await refusal(entry);
	assert.match(message, /--omit=optional/);
});

test("ADDON_NOT_FOUND names an incomplete package, and a damaged addon with the cause", async (t) => {
	const { entry, place } = installation(t);
	const folder = place(platform);
	cpSync(join(built, "package.json"), join(folder, "package.json"));
	const incomplete = await refusal(entry);
	assert.match(incomplete.message, /is incomplete/);
	assert.ok(incomplete.message.includes(folder), incomplete.message);
	cpSync(join(built, "index.js"), join(folder, "index.js"));
	const addon = join(folder, `scoring.${platform}.node`);
	writeFileSync(addon, "no library");
	const damaged = await refusal(entry);
	assert.equal(damaged.cause, "ERR_DLOPEN_FAILED");
	assert.ok(damaged.message.includes(addon), damaged.message);
});

test("an addon that a bundler includes is refused", async (t) => {
	const { entry, place } = installation(t);
	mkdirSync(place(platform));
	for (const left of ["filename", "paths"]) {
		const module = `{ exports: {}, ${left}: [__filename] }`;
		const source = readFileSync(join(built, "index.js"), "utf8");
		const text = `(function (module) { ${source} })(${module});`;
		writeFileSync(join(place(platform), "index.js"), text);
		const { code, message, cause } = await load(entry);
		assert.deepEqual([code, cause], ["ADDON_NOT_FOUND", "ADDON_BUNDLED"], message);
		assert.match(message, /Mark @knowledgepulse\/scoring as external/);
	}
});

for (const option of ["--no-addons", "--permission"])
	test(`ADDON_NOT_FOUND names ${option}`, async (t) => {
		if (!process.allowedNodeEnvironmentFlags.has(option)) return t.skip("not in this version");
		const { entry, place } = installation(t);
		symlinkSync(built, place(platform));
		const options =
			option === "--permission" ? [option, "--allow-fs-read=*", "--allow-fs-write=*"] : [option];
		const { code, message, cause } = await load(entry, {}, options);
		assert.deepEqual([code, cause], ["ADDON_NOT_FOUND", "ERR_DLOPEN_DISABLED"], message);
		assert.ok(message.includes(option), message);
		assert.doesNotMatch(message, /npm install|damaged/);
	});

test("ADDON_NOT_FOUND names a folder that the user may not read", async (t) => {
	if (!process.getuid) return t.skip("Windows has no such permissions");
	const { entry, modules, place } = installation(t);
	const folder = place(platform);
	cpSync(built, folder, { recursive: true });
	chmodSync(join(modules, ".."), 0o755);
	chmodSync(folder, 0);
	const user = process.getuid() === 0 ? 65534 : undefined;
	const { code, message } = await load(entry, { user });
	chmodSync(folder, 0o755);
	assert.equal(code, "ADDON_NOT_FOUND");
	assert.ok(message.includes(`${folder} could not be loaded: `), message);
	assert.match(message, /permission denied.*\n.*user of this process/);
	assert.doesNotMatch(message, /npm install|damaged|incomplete/);
});

for (const [system, arch, libc, name] of [
	["linux", "x64", "glibc", "linux-x64-gnu"],
	["linux", "x64", "/lib/ld-musl-x86_64.so.1", "linux-x64-musl"],
	["linux", "arm64", "musl", "linux-arm64-musl"],
	["darwin", "arm64", undefined, "darwin-arm64"],
	["darwin", "x64", undefined, "darwin-x64"],
	["win32", "x64", undefined, "win32-x64-msvc"],
	["win32", "arm64", undefined, "win32-arm64-msvc"],
])
	test(`ADDON_NOT_FOUND asks for ${name} on ${system} ${arch} ${libc ?? ""}`, () =>
		refusal(bare.entry, { platform: system, arch, libc }, name));

test("ADDON_NOT_FOUND says that there is no package for a system", async () => {
	for (const [pretend, name] of [
		[{ platform: "freebsd", arch: "x64" }, "freebsd-x64"],
		[{ platform: "linux", arch: "riscv64", libc: "glibc" }, "linux-riscv64-gnu"],
	]) {
		const { code, message } = await load(bare.entry, pretend);
		assert.equal(code, "ADDON_NOT_FOUND");
		assert.ok(message.includes(`there is no package for ${name}. `), message);
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
