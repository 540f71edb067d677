import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { temporaryFolder } from "../../../../__test__/support/model-folder.mjs";
import pg from "../support/driver.mjs";
import { missing, startForStores } from "../support/postgres.mjs";
import { startProxy } from "../support/proxy.mjs";
import {
	answerOf,
	assertReplayed,
	entriesOf,
	isFailed,
	isStored,
	Load,
	SCORER,
	traceOf,
} from "./replay.mjs";

const FULL_DISK = fileURLToPath(new URL("full-disk.mjs", import.meta.url));

/** Long enough even on a busy machine, if no call may fail. */
const TIMEOUT_MS = 1000;

// Only the load flushes commits that do not wait for the disk.
const settings = { wal_writer_delay: "10s", wal_writer_flush_after: "1GB" };
const { server } = await startForStores({ after, settings });

describe("faults", { skip: missing }, () => {
	let count = 0;
	const pools = [];
	after(() => Promise.all(pools.map((pool) => pool.end())));

	function open(namespace, { config = server.config(), durable = true, ...options } = {}) {
		const pool = new pg.Pool({ max: 4, ...config });
		pools.push(pool);
		const store = new PostgresStore({ pool, namespace, durable });
		const given = { ...SCORER, storeTimeoutMs: TIMEOUT_MS, ...options };
		return { store, scorer: new Scorer({ ...given, store }) };
	}

	/**
	 * Runs `fault` while two scorers score. It gets their loads, and functions that wait until both have an
	 * answer from the store, or one without it. Returns the store and the answers.
	 */
	async function underLoad(fault, { config, durable } = {}) {
		const namespace = `faults ${++count}`;
		const opened = ["auto", "required"].map((storeMode) =>
			open(namespace, { config, durable, storeMode }),
		);
		const loads = opened.map(({ scorer }, i) => new Load(scorer, `faults${count}-${i}`));
		const until = (holds) => () => Promise.all(loads.map((load) => load.until(holds)));
		const untilStored = until(isStored);
		await untilStored();
		try {
			const untilFailed = until(isFailed);
			await fault({ loads, untilStored, untilFailed, namespace });
			await untilStored();
		} finally {
			await Promise.all(loads.map((load) => load.stop()));
		}
		const { store } = open(namespace);
		const entries = await entriesOf(store);
		const answers = loads.flatMap(({ answers }) => answers);
		const failures = loads.map(({ answers }) => answers.filter(isFailed));
		for (const { error } of failures[0]) assert.equal(error, undefined);
		for (const { error } of failures[1]) assert.ok(error);
		for (const { scorer } of opened) scorer.close();
		return { entries, answers, failures: failures.flat() };
	}

	test("a server that is killed and restarted neither loses nor repeats entries", async () => {
		const { entries, answers } = await underLoad(async ({ untilStored, untilFailed }) => {
			for (let turn = 0; turn < 2; turn++) {
				await server.kill();
				await untilFailed();
				await server.start();
				await untilStored();
			}
		});
		await assertReplayed(entries, answers);
	});

	test("a crash of a server that commits without waiting loses the last entries, and changes no other", async () => {
		const acknowledged = [];
		const { entries, answers } = await underLoad(
			async ({ loads, untilStored, untilFailed, namespace }) => {
				const readEpoch = async () => {
					const sql = "SELECT epoch FROM kp_novelty.head WHERE namespace = $1";
					return (await server.query(sql, [namespace]))[0].epoch;
				};
				const epoch = await readEpoch();
				await untilStored();
				await server.kill();
				await untilFailed();
				for (const { answers } of loads) acknowledged.push(...answers.filter(isStored));
				await server.start();
				await untilStored();
				assert.notEqual(await readEpoch(), epoch);
			},
			{ durable: false },
		);
		const ids = new Set(entries.map(({ id }) => id));
		const lost = answers.filter((answer) => isStored(answer) && !ids.has(answer.id));
		assert.ok(lost.length > 0);
		const firstLost = Math.min(...lost.map(({ seq }) => seq));
		for (const answer of acknowledged) assert.equal(lost.includes(answer), answer.seq >= firstLost);
		await assertReplayed(
			entries,
			answers.filter((answer) => !lost.includes(answer)),
		);
	});

	test("calls whose answers are cut off are in the store once", async () => {
		const proxy = await startProxy(server.folder);
		const config = server.config({ host: "127.0.0.1", port: proxy.port });
		const { entries, answers, failures } = await underLoad(
			async ({ untilStored, untilFailed }) => {
				for (let turn = 0; turn < 4; turn++) {
					proxy.cut = true;
					while (proxy.cuts <= turn) await new Promise((resolve) => setTimeout(resolve, 1));
					proxy.cut = false;
					await untilStored();
				}
				// Until all retries are lost as well.
				proxy.cut = true;
				await untilFailed();
				proxy.cut = false;
			},
			{ config },
		);
		await assertReplayed(entries, answers);
		// Their entries were stored although the answers were lost.
		const places = new Set(entries.map(({ id }) => id));
		assert.ok(failures.some(({ id }) => places.has(id)));
		proxy.stop();
	});

	test("a standby answers reads, and everything once it is promoted", async () => {
		const primary = open("standby");
		const ids = Array.from({ length: 9 }, (_, i) => `words ${i} primary`);
		const answers = [];
		for (const id of ids) answers.push(await answerOf(primary.scorer, id));
		const standby = await server.standby();
		try {
			const config = standby.config();
			const auto = open("standby", { config });
			const required = open("standby", { config, storeMode: "required" });
			const alone = new Scorer(SCORER);
			for (const id of ids) await alone.evaluateValue(traceOf(id));
			const again = traceOf("words 3 standby");
			for (const { scorer } of [auto, required])
				assert.equal(
					await scorer.evaluateValue(again, { remember: false }),
					await alone.evaluateValue(again, { remember: false }),
				);
			const refused = await answerOf(auto.scorer, "words 3 auto");
			assert.match(refused.reason, /read-only transaction/);
			const rejected = await answerOf(required.scorer, "words 3 required");
			assert.equal(rejected.error.code, "STORE_UNAVAILABLE");
			assert.match(rejected.error.message, /read-only transaction/);
			answers.push(refused, rejected);

			await standby.query("SELECT pg_promote()");
			for (const { scorer } of [auto, required])
				do answers.push(await answerOf(scorer, `words 3 ${answers.length}`));
				while (isFailed(answers.at(-1)));
			const entries = await entriesOf(auto.store);
			assert.equal(entries.length, 11);
			await assertReplayed(entries, answers);
		} finally {
			await standby.stop();
		}
	});

	test("entries expire by the clock of the store, not of a process", async () => {
		const cache = { ttlMs: 60_000 };
		const [one, other] = [open("clock", { cache }), open("clock", { cache })];
		await answerOf(one.scorer, "words 3 first");
		await server.query("UPDATE kp_novelty.head SET at = at + 3600000 WHERE namespace = 'clock'");
		const late = await answerOf(one.scorer, "words 3 late");
		assert.deepEqual([late.seq, late.maxSimilarity], [2, null]);
		const last = await answerOf(other.scorer, "words 3 last");
		assert.deepEqual([last.seq, last.nearest], [3, "words 3 late"]);
	});
});

for (const [name, reason, skip] of [
	["PostgreSQL", /No space left on device/, missing],
	["SQLite", /database or disk is full/],
])
	test(`a full disk fails calls of ${name} until there is space`, { skip }, (t) => {
		const folder = temporaryFolder(t);
		const mount = 'mount -t tmpfs -o size=120m none "$1" && exec "$2" "$3" "$1" "$4"';
		// PostgreSQL does not run as root, not even as root of a namespace.
		const namespace = "-U --map-user=65534 --map-group=65534 --keep-caps -m".split(" ");
		const command = ["sh", "-c", mount, "sh", folder, process.execPath, FULL_DISK, name];
		const { status, stdout, stderr } = spawnSync("unshare", [...namespace, ...command], {
			encoding: "utf8",
		});
		if (stdout === null || /unshare: |mount: /.test(stderr))
			return t.skip("no file system of a test's own");
		assert.equal(status, 0, stderr);
		const { reasons, stored } = JSON.parse(stdout);
		assert.ok(stored > 0);
		assert.match(reasons.join(), reason);
	});
