import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { damageAnywhere, damages } from "../support/damages.mjs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import {
	library,
	link,
	literally,
	nodeLibrary,
	otherLibrary,
	ownCopy,
	temporaryFolder,
} from "../support/model-folder.mjs";
import { scoresOf } from "../support/scores.mjs";
import { trace } from "../support/traces.mjs";

/** The file with the digest of the library, beside it. */
const ENTRY = join(dirname(library), "onnxruntime.json");

const onnx = (file, embedder) => new Scorer({ library: file, backend: "onnx", embedder });

// Elsewhere, because a process that has loaded a library does not look at another one.
const [expected] = await scoresOf([trace()], 1, {
	env: { KNOWLEDGEPULSE_SCORING_BACKEND: "onnx" },
});

/** Checks that nothing is scored with a library that cannot be loaded, and that status and error have the reason. */
async function assertRefused(file, reason = literally(file)) {
	const scorer = onnx(file, "auto");
	const { novelty } = await scorer.explainValue(trace());
	assert.equal(novelty.source, "no-embedder");
	assert.match(novelty.reason, reason);
	const { embedder } = scorer.status();
	assert.deepEqual([embedder.state, embedder.backend], ["unavailable", "onnx"]);
	assert.equal(embedder.reason, novelty.reason);
	const { message } = await onnx(file, "required")
		.evaluateValue(trace())
		.catch((error) => error);
	assert.ok(message.includes(novelty.reason), message);
}

/** A copy of the library, with its checksum beside it. */
function vouched(t) {
	const folder = temporaryFolder(t);
	const entry = ownCopy(join(folder, basename(ENTRY)), ENTRY);
	return { entry, file: ownCopy(join(folder, basename(library)), library) };
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

	for (const damaged of ["missing", "cut at 0.5", "longer", "one other bit"])
		test(`evaluateValue refuses a library and its checksum, damaged: ${damaged}`, async (t) => {
			const { file } = vouched(t);
			damages[damaged](file);
			await assertRefused(file);
		});

	for (const damaged of ["text", "a folder"])
		test(`evaluateValue refuses a checksum of the library damaged: ${damaged}`, async (t) => {
			const { entry, file } = vouched(t);
			damages[damaged](entry);
			await assertRefused(file, literally(entry));
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
		/expected version 1\.17 or later, got 1\.16\.3/,
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
		model: "../tools/custom-model",
		library: place,
		installed: library,
		trace: trace(),
	};
	const [first, refused, embedded, second] = await valueFrom(body, { input });
	assert.deepEqual(
		[typeof first, refused, typeof second],
		["number", "EMBEDDER_UNAVAILABLE", "number"],
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

test("only a library of the user's own changes the environment, to disable its telemetry", async () => {
	const body = async ({ scoring, input }) => {
		await scoring.warmup();
		const before = process.env.ORT_DISABLE_TELEMETRY;
		scoring.configure({ library: input });
		return [before, process.env.ORT_DISABLE_TELEMETRY];
	};
	// This process has set it for other tests.
	const env = { ORT_DISABLE_TELEMETRY: undefined };
	assert.deepEqual(await valueFrom(body, { input: library, env }), [undefined, "1"]);
});

test("a library is recognised by another path", async (t) => {
	const file = join(temporaryFolder(t), "another name");
	link(library, file);
	const body = async ({ scoring, input }) => {
		scoring.configure({ backend: "onnx" });
		await scoring.warmup();
		const scorer = new scoring.Scorer({ library: input });
		return (await scorer.warmup()).embedder;
	};
	const { backend, reason } = await valueFrom(body, { input: file });
	assert.deepEqual([backend, reason], ["onnx", null]);
});

// Last, because the library is loaded if the damage of its checksum does not matter.
for (const which of ["file", "entry"])
	test(`evaluateValue gives the right score with the ${which} of the library damaged anywhere`, async (t) => {
		const draw = draws(seed);
		for (let count = 0; count < repeats(3); count++) {
			const files = vouched(t);
			const what = damageAnywhere(files[which], draw);
			await repeatable(what, async () => {
				const { score, novelty } = await onnx(files.file, "auto").explainValue(trace());
				// Not everything in the entry is used.
				if (which === "file") assert.equal(novelty.source, "no-embedder");
				if (novelty.source === "no-embedder")
					assert.match(novelty.reason, literally(dirname(files.file)));
				else assert.equal(score, expected);
			});
		}
	});
