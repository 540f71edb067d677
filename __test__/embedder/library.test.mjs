import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { run, valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import { damages } from "../support/damages.mjs";
import { repeats } from "../support/draws.mjs";
import {
	library,
	link,
	literally,
	nodeLibrary,
	otherLibrary,
	ownCopy,
	temporaryFolder,
} from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

const onnx = (file, embedder) => new Scorer({ library: file, backend: "onnx", embedder });

/** Checks that nothing is scored with a library that cannot be loaded, and that status and error have the reason. */
async function assertRefused(file, reason = literally(file)) {
	const scorer = onnx(file, "auto");
	const { novelty } = await scorer.explainValue(trace());
	assert.equal(novelty.source, "no-embedder");
	assert.match(novelty.reason, reason);
	const { embedder } = scorer.status();
	assert.deepEqual([embedder.state, embedder.backend], ["unavailable", "onnx"]);
	assert.equal(embedder.reason, novelty.reason);
	const { code, message } = await onnx(file, "required")
		.evaluateValue(trace())
		.catch((error) => error);
	assert.equal(code, "LIBRARY_UNAVAILABLE");
	assert.ok(message.includes(novelty.reason), message);
}

describe("a damaged ONNX Runtime library", () => {
	const ways = ["missing", "empty", "a folder", "text", "cut at 0.1", "cut at 0.5", "cut at 0.999"];
	for (const damaged of ways)
		test(`evaluateValue refuses a library that is damaged: ${damaged}`, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			damages[damaged](ownCopy(file, library));
			await assertRefused(file);
		});

	for (const damaged of ["a pipe", "without end"])
		test(`evaluateValue refuses a library no file: ${damaged}`, {
			skip: process.platform === "win32",
			timeout: 60_000,
		}, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			damages[damaged](ownCopy(file, library));
			await assertRefused(file, /expected a file/);
		});

	test("evaluateValue refuses a library that is the addon itself", async () => {
		const require = createRequire(import.meta.url);
		require("@knowledgepulse/scoring");
		const addon = Object.keys(require.cache).find((file) => file.endsWith(".node"));
		await assertRefused(addon);
	});

	const host = `${process.platform}/${process.arch}`;
	const platforms = ["linux/x64", "linux/arm64", "darwin/arm64", "win32/x64"];
	for (const platform of platforms.filter((name) => name !== host))
		test(`evaluateValue refuses a library that is of ${platform}`, () =>
			assertRefused(nodeLibrary(platform)));

	test(`evaluateValue refuses a library that is ${otherLibrary}`, () =>
		assertRefused(otherLibrary));
});

/** Compiles a library from C. */
function compiled(folder, name, source, ...options) {
	const file = join(folder, name);
	const args = ["-shared", "-fPIC", "-xc", "-", "-o", file, "-xnone", ...options];
	const { status, stderr } = spawnSync("cc", args, {
		input: source,
		cwd: folder,
		encoding: "utf8",
	});
	assert.equal(status, 0, stderr);
	return file;
}

const VERSION = 'static const char *version(void) { return "1.16.3"; }';
const API = "static void *api(unsigned version) { return 0; }";

/** Libraries that load but are unsuitable: their source, and the message. */
const OTHERS = {
	"gives no functions": ["void *OrtGetApiBase(void) { return 0; }", /OrtGetApiBase, got null/],
	"is too old": [
		`${API} ${VERSION} static void *base[] = { api, version }; void *OrtGetApiBase(void) { return base; }`,
		/expected version 1\.17 or later, got 1\.16\.3; npm install onnxruntime-node/,
	],
	"is another one": [
		"int other;",
		/not an ONNX Runtime library: expected the function OrtGetApiBase/,
	],
};

if (process.platform === "linux")
	OTHERS["calls a function that is nowhere"] = [
		"void nowhere(void); void *OrtGetApiBase(void) { nowhere(); return 0; }",
		/undefined symbol: nowhere/,
	];

describe("a library of the user's own", { skip: process.platform === "win32" }, () => {
	for (const [what, [source, reason]] of Object.entries(OTHERS))
		test(`status names the reason when the library ${what}`, async (t) => {
			const file = compiled(temporaryFolder(t), "library.so", source);
			await assertRefused(file, reason);
		});

	test("status names a missing dependency of the library", async (t) => {
		const folder = temporaryFolder(t);
		const needed = compiled(folder, "libneeded.so", "void needed(void) {}");
		const source = "void needed(void); void needs(void) { needed(); }";
		const file = compiled(folder, "library.so", source, needed);
		rmSync(needed);
		await assertRefused(file, /libneeded\.so/);
	});
});

test("a library that cannot be loaded concerns only what needs it", async (t) => {
	const body = async ({ scoring, input: { trace, installed, ...options } }) => {
		const custom = new scoring.Scorer({ ...options, pooling: "mean", embedder: "required" });
		const outcome = () => custom.embed("a b").then(Array.from, ({ code }) => code);
		const found = [await scoring.evaluateValue(trace), await outcome()];
		const { link } = await import("./support/model-folder.mjs");
		link(installed, options.library);
		await new Promise((resolve) => setTimeout(resolve, 1_100));
		return [...found, await outcome(), await scoring.evaluateValue({ ...trace, id: "again" })];
	};
	const place = join(temporaryFolder(t), "library");
	const input = {
		model: "data/custom-model",
		library: place,
		installed: library,
		trace: trace(),
	};
	const [first, refused, embedded, second] = await valueFrom(body, { input });
	assert.deepEqual(
		[typeof first, refused, typeof second],
		["number", "LIBRARY_UNAVAILABLE", "number"],
	);
	assert.deepEqual(embedded, [0.6, 0.8].map(Math.fround));
});

/** A command to run another one with, after mounting something for it alone. */
const mounted = (mount) => ["unshare", "--mount", "sh", "-c", `${mount} && exec "$@"`, "sh"];

const [command, ...rest] = mounted("mount -t tmpfs none /mnt");
const skip = spawnSync(command, [...rest, "true"]).status !== 0 && "takes root on Linux";

test("status says that the file system of a library forbids execution", { skip }, async (t) => {
	const folder = temporaryFolder(t);
	const file = join(folder, "library.so");
	const mount = `mount -t tmpfs -o noexec none '${folder}' && cp '${library}' '${file}'`;
	const body = async ({ scoring, input }) => {
		scoring.configure({ library: input, backend: "onnx", embedder: "required" });
		return (await scoring.warmup().catch((error) => error)).message;
	};
	const reason = await valueFrom(body, { input: file, under: mounted(mount) });
	assert.match(reason, /failed to map segment.*must not be mounted with noexec/);
});

test("evaluateValue refuses ONNX Runtime where Linux describes no processors", {
	skip,
}, async () => {
	const body = async ({ scoring, input }) => {
		const scored = await scoring.explainValue(input);
		scoring.configure({ backend: "onnx", embedder: "required" });
		return [scored.novelty.reason, (await scoring.warmup().catch((error) => error)).message];
	};
	// An empty file and an empty folder take the place of those that describe them.
	const mount =
		"mount -t tmpfs none /sys/devices/system/cpu && mount --bind /dev/null /proc/cpuinfo";
	const [none, reason] = await valueFrom(body, { input: trace(), under: mounted(mount) });
	assert.equal(none, null);
	assert.match(reason, /expected processors in \/sys\/devices\/system\/cpu.*\/proc\/cpuinfo/);
});

test("only a use of ONNX Runtime changes the environment, to disable its telemetry", async () => {
	const body = async ({ scoring, input }) => {
		scoring.configure({ library: input });
		await scoring.warmup();
		const before = process.env.ORT_DISABLE_TELEMETRY;
		scoring.configure({ backend: "onnx" });
		await scoring.warmup();
		return [before, process.env.ORT_DISABLE_TELEMETRY];
	};
	// This process has set it for other tests.
	const env = { ORT_DISABLE_TELEMETRY: undefined };
	assert.deepEqual(await valueFrom(body, { input: library, env }), [undefined, "1"]);
});

for (const [how, name, other, expected] of [
	["by a link to it", "another name", (file) => link(library, file), null],
	["in a copy", basename(library), (file) => ownCopy(file, library), null],
	[
		"but not in another version",
		basename(library),
		(file) => damages.longer(ownCopy(file, library)),
		"is loaded already, and a process can have only one",
	],
])
	for (const first of ["this package", "onnxruntime-node"])
		test(`the library that ${first} has loaded is recognised ${how}`, async (t) => {
			const file = join(temporaryFolder(t), name);
			other(file);
			const body = async ({ scoring, input }) => {
				const { readFileSync } = await import("node:fs");
				if (input.first === "onnxruntime-node") await import("onnxruntime-node");
				else await new scoring.Scorer({ backend: "onnx" }).warmup();
				const scorer = new scoring.Scorer({ backend: "onnx", library: input.file });
				const { reason } = (await scorer.warmup()).embedder;
				if (process.platform !== "linux") return { reason };
				const maps = readFileSync("/proc/self/maps", "utf8").match(/\/.*onnxruntime\.so.*/g);
				return { reason, loaded: [...new Set(maps)] };
			};
			const run = expected ? valueWithoutEmbedder : valueFrom;
			const { reason, loaded } = await run(body, { input: { first, file } });
			if (loaded) assert.deepEqual(loaded, [library], "once");
			if (!expected) return assert.equal(reason, null);
			for (const part of [file, library, expected]) assert.ok(reason.includes(part), reason);
		});

/** Embeds by transformers.js and scores by ONNX Runtime, one after the other or both at once, and ends with code 7. */
const together = async ({ scoring, input: { order, end, trace } }) => {
	const { embed } = await import("./oracle/embedder.mjs");
	const other = () => embed("text");
	const scorer = new scoring.Scorer({ backend: "onnx", embedder: "required" });
	const own = () => scorer.evaluateValue(trace);
	if (order === "at once") await Promise.all([own(), other()]);
	else for (const call of order === "before" ? [own, other] : [other, own]) await call();
	if (end === "a worker") {
		const { Worker } = await import("node:worker_threads");
		const code = `import { Scorer } from "@knowledgepulse/scoring";
			const scorer = new Scorer({ backend: "onnx", embedder: "required" });
			await scorer.evaluateValue(${JSON.stringify(trace)});
			process.exit(7);`;
		const worker = new Worker(code, { eval: true });
		process.exitCode = await new Promise((resolve) => worker.once("exit", resolve));
	}
	if (end === "process.exit()") {
		own();
		setImmediate(() => process.exit(7));
	}
	if (end === "its end") process.exitCode = 7;
};

for (const order of ["before", "after", "at once"])
	for (const end of ["its end", "process.exit()", "a worker"])
		test(`a process that scores ${order} transformers.js, with the same ONNX Runtime, ends with its own code by ${end}`, async () => {
			for (let count = 0; count < repeats(1); count++) {
				const ended = await run(together, { input: { order, end, trace: trace() } });
				assert.deepEqual([ended.code, ended.signal], [7, null], ended.stderr);
			}
		});
