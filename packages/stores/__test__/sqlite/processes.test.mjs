import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { repeats } from "../../../../__test__/support/draws.mjs";
import { options, Reader } from "../../conformance/fixture.js";
import { change, temporaryFile } from "./files.mjs";

const APPENDER = fileURLToPath(new URL("appender.mjs", import.meta.url));

/** An appender, with the batches that it has sent and those that it had an answer for. */
class Appender {
	sending = [];
	appended = [];

	constructor(path) {
		this.child = fork(APPENDER, [path]);
		this.child.on("exit", (code) => {
			// Not by a signal: it failed.
			if (code) this.child.emit("error", new Error(`exit code ${code}`));
		});
		this.child.on("message", ({ sending, appended, mirror, stopped }) => {
			if (sending) this.sending.push(sending);
			if (appended) this.appended.push(appended);
			if (stopped) this.stopped = true;
			if (mirror) this.mirror = mirror;
			if (appended || stopped || mirror) this.child.emit("progress");
		});
	}

	/** Waits until something holds. */
	async until(holds) {
		while (!holds(this)) await once(this.child, "progress");
	}

	/** Waits until it has appended that many batches. */
	async untilAppended(count) {
		await this.until(({ appended }) => appended.length >= count);
	}
}

/** Returns all calls of the file, in order. */
async function callsIn(path) {
	const store = new SqliteStore({ path });
	const reader = new Reader(store);
	await reader.read();
	await store.close();
	return reader.calls;
}

/** Checks that each batch is there once, with its calls one behind the other. */
function assertOnce(calls, batches) {
	const places = new Map(calls.map((call, place) => [call, place]));
	assert.equal(places.size, calls.length);
	for (const batch of batches) {
		const first = places.get(batch[0]);
		assert.deepEqual(calls.slice(first, first + batch.length), batch);
	}
}

test("SqliteStore gives 8 processes one order, with each call once", async () => {
	const path = temporaryFile();
	const appenders = Array.from({ length: 8 }, () => new Appender(path));
	await Promise.all(appenders.map((appender) => appender.untilAppended(repeats(25))));
	for (const { child } of appenders) child.send("stop");
	await Promise.all(appenders.map((one) => one.until((it) => it.stopped)));
	for (const { child } of appenders) child.send("finish");
	await Promise.all(appenders.map((one) => one.until((it) => it.mirror)));

	const calls = await callsIn(path);
	const batches = appenders.flatMap(({ appended }) => appended);
	assert.equal(calls.length, batches.flat().length);
	assertOnce(calls, batches);
	for (const { mirror } of appenders) assert.deepEqual(mirror, calls);
	assert.deepEqual(change(path, "PRAGMA integrity_check"), [
		{ __proto__: null, integrity_check: "ok" },
	]);
});

test("SqliteStore loses and doubles nothing when processes are killed", async () => {
	const path = temporaryFile();
	const all = [];
	const survivor = new Appender(path);
	for (let round = 0; round < repeats(2); round++) {
		const killed = Array.from({ length: 3 }, () => new Appender(path));
		await Promise.all(
			killed.map(async (appender, i) => {
				await appender.untilAppended(3 + 7 * i + round);
				const closed = once(appender.child, "close");
				appender.child.kill("SIGKILL");
				await closed;
			}),
		);
		all.push(...killed);
	}
	await survivor.untilAppended(survivor.appended.length + 20);
	survivor.child.send("stop");
	await survivor.until(({ stopped }) => stopped);
	survivor.child.send("finish");
	await survivor.until(({ mirror }) => mirror);

	const calls = await callsIn(path);
	assert.deepEqual(survivor.mirror, calls);
	assertOnce(calls, survivor.appended);
	const store = new SqliteStore({ path });
	for (const { sending, appended } of all) {
		assertOnce(calls, appended);
		// The last batch, whose answer was lost: all or nothing, and once after a repetition.
		for (const batch of sending.slice(appended.length)) {
			const found = batch.filter((call) => calls.includes(call)).length;
			assert.ok([0, batch.length].includes(found), `${found} of ${batch.length}`);
			const entries = batch.map((call) => ({ kind: "forget", call, id: "x" }));
			await store.append(entries, options({ keepFrom: null }));
		}
	}
	await store.close();
	const sent = [...all, survivor].flatMap(({ sending }) => sending);
	const repeated = await callsIn(path);
	assert.deepEqual([...repeated].sort(), sent.flat().sort());
	assertOnce(repeated, sent);
});
