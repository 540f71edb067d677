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

const [expected] = await scoresOf([trace()], 1);

/**
 * Scores with a library that cannot be loaded. Checks that the native backend gives the same score, and that
 * the status has the reason.
 */
async function assertNative(file, reason = literally(file)) {
	const scorer = new Scorer({ library: file, embedder: "required" });
	const { score, novelty } = await scorer.explainValue(trace());
	assert.deepEqual([score, novelty.source], [expected, "empty-cache"]);
	const { embedder } = scorer.status();
	const { state, backend, library: path, libraryVersion } = embedder;
	assert.deepEqual([state, backend, path, libraryVersion], ["ready", "native", null, null]);
	assert.match(embedder.reason, reason);
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
		test(`evaluateValue uses the native backend with the library damaged: ${damaged}`, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			damages[damaged](ownCopy(file, library));
			await assertNative(file);
		});

	for (const damaged of ["a pipe", "without end"])
		test(`evaluateValue uses the native backend with the library no file: ${damaged}`, {
			skip: process.platform === "win32",
			timeout: 60_000,
		}, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			damages[damaged](ownCopy(file, library));
			await assertNative(file, /expected a file/);
		});

	for (const damaged of ["missing", "cut at 0.5", "longer", "one other bit"])
		test(`evaluateValue uses the native backend with the library and its checksum, damaged: ${damaged}`, async (t) => {
			const { file } = vouched(t);
			damages[damaged](file);
			await assertNative(file);
		});

	for (const damaged of ["text", "a folder"])
		test(`evaluateValue uses the native backend with the checksum of the library damaged: ${damaged}`, async (t) => {
			const { entry, file } = vouched(t);
			damages[damaged](entry);
			await assertNative(file, literally(entry));
		});

	test("evaluateValue uses the native backend when the library is the addon itself", async () => {
		const require = createRequire(import.meta.url);
		require("@knowledgepulse/scoring");
		const addon = Object.keys(require.cache).find((file) => file.endsWith(".node"));
		await assertNative(addon);
	});

	const host = `${process.platform}/${process.arch}`;
	const platforms = ["linux/x64", "linux/arm64", "darwin/arm64", "win32/x64"];
	for (const platform of platforms.filter((name) => name !== host))
		test(`evaluateValue uses the native backend when the library is of ${platform}`, () =>
			assertNative(nodeLibrary(platform)));

	test(`evaluateValue uses the native backend when the library is ${otherLibrary}`, () =>
		assertNative(otherLibrary));
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
			await assertNative(file, reason);
		});

	test("status names a missing dependency of the library", async (t) => {
		const folder = temporaryFolder(t);
		const needed = compiled(folder, "libneeded.so", "void needed(void) {}");
		const source = "void needed(void); void needs(void) { needed(); }";
		const file = compiled(folder, "library.so", source, needed);
		rmSync(needed);
		await assertNative(file, /libneeded\.so/);
	});
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
		scoring.configure({ library: input });
		return (await scoring.warmup()).embedder;
	};
	const { backend, reason } = await valueFrom(body, { input: file, under: mounted(mount) });
	assert.equal(backend, "native");
	assert.match(reason, /failed to map segment.*must not be mounted with noexec/);
});

test("evaluateValue uses the native backend where Linux describes no processors", {
	skip,
}, async () => {
	const body = async ({ scoring, input }) => {
		const score = await scoring.evaluateValue(input);
		return { score, ...scoring.status().embedder };
	};
	// An empty file and an empty folder take the place of those that describe them.
	const mount =
		"mount -t tmpfs none /sys/devices/system/cpu && mount --bind /dev/null /proc/cpuinfo";
	const options = { input: trace(), under: mounted(mount) };
	const { score, backend, reason } = await valueFrom(body, options);
	assert.deepEqual([score, backend], [expected, "native"]);
	assert.match(reason, /expected processors in \/sys\/devices\/system\/cpu.*\/proc\/cpuinfo/);
});

test("evaluateValue is quiet when the library is missing", async () => {
	const env = { KNOWLEDGEPULSE_SCORING_LIBRARY: "nowhere" };
	assert.deepEqual(await scoresOf([trace()], 1, { env }), [expected]);
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
				if (which === "file") return assertNative(files.file);
				assert.equal(await new Scorer({ library: files.file }).evaluateValue(trace()), expected);
			});
		}
	});
