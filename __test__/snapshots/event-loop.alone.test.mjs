import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { temporaryFolder } from "../support/model-folder.mjs";
import { random } from "../support/traces.mjs";

/** Enough vectors for a snapshot of about 30 MB. */
const MANY = 20_000;

/** Whether a promise is still pending after the call and its microtasks. */
async function isPending(promise) {
	assert.ok(promise instanceof Promise);
	let settled = false;
	const settle = () => {
		settled = true;
	};
	promise.then(settle, settle);
	for (let turn = 0; turn < 50; turn++) await null;
	return !settled;
}

describe("Scorer with a large cache", () => {
	let scorer;
	let bytes;
	before(async () => {
		scorer = new Scorer({ cache: { maxElements: MANY } });
		const next = random(1);
		for (let added = 0; added < MANY; added++)
			scorer.cache.add(Float32Array.from({ length: 384 }, next));
		bytes = await scorer.snapshot();
	});

	test("Scorer.snapshot, restore, save and load are pending after the call", async (t) => {
		const file = join(temporaryFolder(t), "snapshot");
		const snapshot = scorer.snapshot();
		assert.ok(await isPending(snapshot));
		const found = await snapshot;
		assert.ok(Buffer.isBuffer(found));
		assert.ok(found.length > MANY * 384 * 4, String(found.length));
		const saving = scorer.save(file);
		assert.ok(await isPending(saving));
		assert.equal(await saving, undefined);
		for (const restore of [() => Scorer.restore(bytes), () => Scorer.load(file)]) {
			const restoring = restore();
			assert.ok(await isPending(restoring));
			assert.equal((await restoring).status().cacheSize, MANY);
		}
	});

	test("Scorer.restore rejects damaged bytes only after the call", async () => {
		const damaged = Buffer.from(bytes);
		damaged[damaged.length >> 1] ^= 1;
		const restoring = Scorer.restore(damaged);
		assert.ok(await isPending(restoring));
		await assert.rejects(restoring, { code: "INVALID_SNAPSHOT" });
	});

	test("Scorer.snapshot and Scorer.save can run at the same time", async (t) => {
		const file = join(temporaryFolder(t), "snapshot");
		await Promise.all([scorer.snapshot(), ...Array.from({ length: 4 }, () => scorer.save(file))]);
		assert.equal((await Scorer.load(file)).status().cacheSize, MANY);
		assert.deepEqual(readdirSync(dirname(file)), ["snapshot"]);
	});
});
