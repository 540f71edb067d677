import assert from "node:assert/strict";
import {
	existsSync,
	readdirSync,
	readFileSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import fs from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { Scorer } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";
import { repeats } from "../support/draws.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { oneByOne } from "../support/scores.mjs";
import { kinds, says } from "../support/traces.mjs";

const folder = temporaryFolder({ after });

const filled = async (options) => {
	const scorer = new Scorer(options);
	await scorer.evaluateValues(traces.slice(0, 5));
	return scorer;
};

for (const novelty of kinds)
	test(`Scorer.restore and Scorer.load continue from the snapshot, bit for bit, novelty ${novelty}`, async () => {
		const scorer = await filled({ novelty });
		const file = join(folder, "a");
		await scorer.save(file);
		const rest = traces.slice(5);
		const expected = await oneByOne(traces, { novelty });
		for (const restored of [
			await Scorer.restore(await scorer.snapshot(), { novelty }),
			await Scorer.load(file, { novelty }),
		])
			assert.deepEqual(await restored.evaluateValues(rest), expected.slice(5));
		assert.deepEqual(readdirSync(folder), ["a"], "no other file is left");
	});

test("Scorer.snapshot and Scorer.save without ages give the same bytes for the same entries", async () => {
	const file = join(folder, "ageless");
	const [one, other] = [await filled({ threads: 1 }), await filled()];
	const bytes = await one.snapshot({ ages: false });
	await other.save(file, { ages: false });
	assert.deepEqual(readFileSync(file), bytes);
	rmSync(file);
	assert.notDeepEqual(await one.snapshot(), bytes);
	const again = await Scorer.restore(bytes);
	assert.deepEqual(await again.snapshot({ ages: false }), bytes);
	await assert.rejects(one.snapshot({ ages: 0 }), {
		code: "INVALID_OPTION",
		message: "ages: expected true or false, got 0",
	});
});

test("Scorer.restore rejects instead of throwing", async () => {
	const bytes = await (await filled()).snapshot();
	const rows = [
		...[undefined, null, "snapshot", [1, 2, 3]].map((value) => [value]),
		[bytes, 5],
		[bytes, { cashe: {} }],
		[bytes, { cache: { maxElements: 0 } }],
	];
	for (const given of rows) {
		const restored = Scorer.restore(...given);
		assert.ok(restored instanceof Promise);
		await assert.rejects(restored, {
			name: "ScoringError",
			code: given.length > 1 ? "INVALID_OPTION" : /^INVALID_(SNAPSHOT|OPTION)$/,
		});
	}
});

test("Scorer.restore accepts any Uint8Array, and reads it at once", async () => {
	const bytes = await (await filled()).snapshot();
	const copies = [
		bytes,
		new Uint8Array(bytes),
		new Uint8Array([0, ...bytes, 0]).subarray(1, -1),
		vm.runInNewContext("Uint8Array.from(bytes)", { bytes: [...bytes] }),
	];
	for (const copy of copies) {
		const restored = await Scorer.restore(copy);
		assert.equal(restored.status().cacheSize, 5);
	}
	const changed = Uint8Array.from(bytes);
	const restoring = Scorer.restore(changed);
	changed.fill(0);
	assert.equal((await restoring).status().cacheSize, 5);
});

test("Scorer.save leaves the former file alone when it fails", async () => {
	const scorer = await filled();
	const missing = join(folder, "missing", "file");
	await assert.rejects(scorer.save(missing), (error) => {
		assert.deepEqual(
			[error.name, error.code, error.path],
			["ScoringError", "SNAPSHOT_IO", missing],
		);
		return error.message.startsWith(`cannot write ${missing}: `);
	});
	await assert.rejects(Scorer.load(missing), { code: "ENOENT" });
	assert.ok(readFileSync(join(folder, "a")).length > 1000);
});

for (const [options, model] of [
	[{ novelty: "run" }, "run 2: \\w+"],
	[{ novelty: "words" }, "words"],
])
	test(`Scorer.snapshot with ${JSON.stringify(options)} is refused by a scorer without, and the other way`, async () => {
		const scorer = new Scorer(options);
		await scorer.remember(says("river"));
		const snapshot = await scorer.snapshot();
		await assert.rejects(Scorer.restore(snapshot), {
			code: "INVALID_SNAPSHOT",
			message: new RegExp(`model: expected "\\w+", got "${model}`),
		});
		const restored = await Scorer.restore(snapshot, options);
		assert.equal(restored.status().cacheSize, 1);
		await assert.rejects(Scorer.restore(await new Scorer().snapshot(), options), {
			code: "INVALID_SNAPSHOT",
		});
	});

test("Scorer.open loads the file of save, or begins empty without one", async () => {
	const file = join(folder, "opened");
	const first = await Scorer.open(file, { cache: { maxElements: 10 } });
	assert.deepEqual([first.status().cacheSize, readdirSync(folder).includes("opened")], [0, false]);
	await first.remember(traces[0]);
	await first.save(file);
	const again = await Scorer.open(pathToFileURL(file));
	assert.equal(again.status().cacheSize, 1);
	writeFileSync(file, "damaged");
	await assert.rejects(Scorer.open(file), (error) => {
		assert.equal(error.code, "INVALID_SNAPSHOT");
		return error.message.startsWith(file);
	});
	await assert.rejects(Scorer.open(join(folder, "none"), { threads: 0 }), { path: "threads" });
});

test("Scorer.load refuses what is no file, and more than fits into memory", async (t) => {
	const sparse = join(folder, "sparse");
	t.after(() => rmSync(sparse, { force: true }));
	writeFileSync(sparse, "");
	const paths = [folder];
	try {
		truncateSync(sparse, 2 ** 43);
		paths.push(sparse);
	} catch (error) {
		// Not every file system has such files.
		assert.match(error.code, /EFBIG|EINVAL|ENOSPC/);
	}
	if (existsSync("/dev/zero")) paths.push("/dev/zero");
	for (const path of paths)
		await assert.rejects(Scorer.load(path), {
			name: "ScoringError",
			code: "INVALID_SNAPSHOT",
			path,
		});
});

test("Scorer.load reads one file, whatever is saved meanwhile", async (t) => {
	const file = join(temporaryFolder(t), "novelty");
	const scorer = await filled();
	await scorer.save(file);
	let isOver = false;
	const save = async () => {
		while (!isOver) {
			await scorer.remember(says(String(Math.random())));
			await scorer.save(file);
		}
	};
	const saving = save();
	for (let count = 0; count < repeats(200); count++) await Scorer.load(file);
	isOver = true;
	await saving;
});

test("Scorer.save and Scorer.load take a URL, and nothing but strings and URLs", async () => {
	const scorer = await filled();
	const url = pathToFileURL(join(folder, "at a URL"));
	await scorer.save(url);
	assert.equal((await Scorer.load(url)).status().cacheSize, 5);
	for (const path of [undefined, null, 5, Buffer.from("a"), new URL("https://example.org/a")])
		for (const call of [() => scorer.save(path), () => Scorer.load(path), () => Scorer.open(path)])
			await assert.rejects(call(), { code: "INVALID_OPTION", path: "path" });
});

test("Scorer.restore, load and open reject with the reason of a signal", async () => {
	const scorer = await filled();
	const file = join(folder, "signal");
	await scorer.save(file);
	const bytes = await scorer.snapshot();
	const calls = [
		(options) => Scorer.restore(bytes, options),
		(options) => Scorer.load(file, options),
		(options) => Scorer.open(file, options),
		(options) => Scorer.open(join(folder, "none"), options),
	];
	for (const call of calls) {
		const signal = AbortSignal.abort("before");
		await assert.rejects(call({ signal }), (reason) => reason === "before");
		const controller = new AbortController();
		const pending = call({ signal: controller.signal });
		controller.abort("later");
		await assert.rejects(pending, (reason) => reason === "later");
		await assert.rejects(call({ signal: 5 }), { code: "INVALID_OPTION", path: "signal" });
		(await call({ signal: new AbortController().signal, threads: 1 })).close();
	}
	assert.throws(() => new Scorer({ signal: new AbortController().signal }), { path: "signal" });
});

describe("the file of a snapshot", () => {
	const { openReplacement, replaceFile } = createRequire(import.meta.url)("../../lib/file.js");
	const folder = temporaryFolder({ after });
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

	for (const [platform, code, failures] of [
		["win32", "ENOSPC", 1],
		["linux", "EPERM", 1],
		["win32", "EBUSY", Infinity],
	])
		test(`replaceFile keeps the old file after ${failures} times ${code} on ${platform}`, async (t) => {
			await fs.writeFile(path, "old");
			const calls = await renaming(t, { platform, code, failures }, () =>
				assert.rejects(replaceFile(path, Buffer.from("new")), { code }),
			);
			if (failures === 1) assert.equal(calls, 1);
			assert.equal(await fs.readFile(path, "utf8"), "old");
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
});
