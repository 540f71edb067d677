import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { add, clear, forget, HEADER, options } from "../support/log.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";

const LENGTH = 384;

/** Numbers in [0, 1), the same in each run. */
function random(seed) {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

/** A unit vector near one of a few centres, so that similarities vary. */
function vector(next) {
	const centre = Math.floor(next() * 8);
	const vector = Float32Array.from(
		{ length: LENGTH },
		(_, i) => next() - 0.5 + (i % 8 === centre ? 1 : 0),
	);
	const norm = Math.hypot(...vector);
	return vector.map((value) => value / norm);
}

const bytesOf = (vector) => new Uint8Array(vector.buffer);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

/** The cache that the database stands for: its traces, oldest first. */
class Naive {
	rows = [];

	constructor(maxElements) {
		this.maxElements = maxElements;
	}

	nearest(vector) {
		const found = this.rows.map((row) => dot(row.vector, vector));
		return found.length === 0 ? null : Math.max(...found);
	}

	add(id, vector) {
		if (this.rows.length === this.maxElements) this.rows.shift();
		this.rows.push({ id, vector });
	}

	forget(id) {
		const { length } = this.rows;
		this.rows = this.rows.filter((row) => row.id !== id);
		return length - this.rows.length;
	}
}

describe("compare", { skip: missing }, () => {
	let server;
	let pool;
	let count = 0;
	before(async () => {
		server = await startPostgres();
		pool = new pg.Pool(server.config());
		await new PostgresNoveltyLog({ pool, compare: "database" }).migrate();
	});
	after(async () => {
		await pool?.end();
		await server?.stop();
	});

	function open(more) {
		const namespace = `compare ${++count}`;
		const log = new PostgresNoveltyLog({
			...{ pool, namespace, compare: "database" },
			...more,
		});
		return { log, namespace };
	}

	test("compare is there only if the database compares", () => {
		const mirrored = new PostgresNoveltyLog({ pool });
		assert.equal(mirrored.compare, undefined);
		assert.equal(typeof open().log.compare, "function");
	});

	test("compare gives what an exact computation gives", async () => {
		const next = random(7);
		const { log } = open();
		const header = { ...HEADER, maxElements: 50 };
		const naive = new Naive(50);
		let removals = 0;
		for (let batch = 0; batch < 40; batch++) {
			const entries = [];
			const expected = [];
			for (let i = 0; i < 16; i++) {
				const kind = next();
				const id = `trace ${Math.floor(next() * 60)}`;
				const value = vector(next);
				const embedding = bytesOf(value);
				if (kind < 0.7) {
					entries.push(add(id, embedding));
					expected.push({ maxSimilarity: naive.nearest(value) });
					naive.add(id, value);
				} else if (kind < 0.85) {
					entries.push({ kind: "peek", embedding });
					expected.push({ maxSimilarity: naive.nearest(value) });
				} else if (kind < 0.99) {
					entries.push(forget(id));
					expected.push({ removed: naive.forget(id) });
					removals += expected.at(-1).removed;
				} else {
					entries.push(clear());
					expected.push({});
					naive.rows = [];
				}
			}
			const found = await log.compare(entries, options({ header }));
			for (const [i, { maxSimilarity = null, removed }] of expected.entries()) {
				assert.equal(found[i].removed, removed);
				if (maxSimilarity === null) assert.equal(found[i].maxSimilarity, null);
				else {
					const error = Math.abs(found[i].maxSimilarity - maxSimilarity);
					assert.ok(error <= 1e-6, `${found[i].maxSimilarity}, ${maxSimilarity}`);
				}
			}
		}
		assert.ok(removals > 0);
	});

	test("compare does not see what has expired", async () => {
		const { log, namespace } = open();
		const header = { ...HEADER, ttlMs: 3_600_000 };
		const embedding = bytesOf(vector(random(1)));
		const send = async (id) => {
			const [found] = await log.compare([add(id, embedding)], options({ header }));
			return found.nearest;
		};
		assert.equal(await send("a"), null);
		assert.equal(await send("b"), "a");
		await pool.query(
			"UPDATE kp_novelty_log SET at = at - 3600000 WHERE namespace = $1 AND seq = 1",
			[namespace],
		);
		assert.equal(await send("c"), "b");
	});

	test("compare mends times that are more than a day ahead of the clock", async () => {
		const { log, namespace } = open();
		const next = random(5);
		const send = async (log) =>
			(await log.compare([add(null, bytesOf(vector(next)))], options()))[0].seq;
		await send(log);
		for (const table of ["log", "head"])
			await pool.query(
				`UPDATE kp_novelty_${table} SET at = at + 1577000000000 WHERE namespace = $1`,
				[namespace],
			);
		assert.equal(await send(log), 2n);
		const now = open();
		await send(now.log);
		const newest = async (namespace) => {
			const sql = "SELECT max(at) AS at FROM kp_novelty_log WHERE namespace = $1";
			return Number((await pool.query(sql, [namespace])).rows[0].at);
		};
		assert.ok((await newest(namespace)) <= (await newest(now.namespace)));
	});

	test("compare deletes what has left the window, after a minute", async () => {
		const { log, namespace } = open();
		const header = { ...HEADER, maxElements: 2 };
		const next = random(2);
		const send = () => log.compare([add(null, bytesOf(vector(next)))], options({ header }));
		const left = async () => {
			const sql = "SELECT seq FROM kp_novelty_log WHERE namespace = $1 ORDER BY seq";
			const { rows } = await pool.query(sql, [namespace]);
			return rows.map(({ seq }) => Number(seq));
		};
		for (let i = 0; i < 5; i++) await send();
		assert.deepEqual(await left(), [1, 2, 3, 4, 5]);
		await pool.query("UPDATE kp_novelty_log SET at = at - 120000 WHERE namespace = $1", [
			namespace,
		]);
		await send();
		assert.deepEqual(await left(), [5, 6]);
	});

	test("compare answers a peek while another process holds the lock", async () => {
		const { log, namespace } = open();
		const embedding = bytesOf(vector(random(3)));
		await log.compare([add("a", embedding)], options());
		const holder = await pool.connect();
		await holder.query("SELECT pg_advisory_lock(hashtextextended($1, 7220))", [namespace]);
		const peek = { kind: "peek", embedding };
		const [found] = await log.compare([peek], options());
		assert.equal(found.nearest, "a");
		holder.release(true);
	});

	test("compare refuses a window that is too large", async () => {
		const header = { ...HEADER, maxElements: 10_001 };
		await assert.rejects(open().log.compare([], options({ header })), {
			...{ name: "ScoringError", code: "STORE_MISMATCH" },
			message: 'compare: "database" compares with at most 10000 traces, cache.maxElements is 10001',
		});
	});

	test("a namespace is used with one way of comparing", async () => {
		const { log, namespace } = open();
		const entry = add(null, bytesOf(vector(random(4))));
		await log.compare([entry], options());
		const mirrored = new PostgresNoveltyLog({ pool, namespace });
		const uses = [() => mirrored.append([add()], options()), () => mirrored.read(options())];
		for (const use of uses)
			await assert.rejects(use, {
				...{ name: "ScoringError", code: "STORE_MISMATCH" },
				message: `namespace "${namespace}" was created with compare: "database"`,
			});

		const other = `${namespace} mirrored`;
		await new PostgresNoveltyLog({ pool, namespace: other }).read(options());
		await assert.rejects(open({ namespace: other }).log.compare([entry], options()), {
			...{ name: "ScoringError", code: "STORE_MISMATCH" },
			message: `namespace "${other}" was created without compare: "database"`,
		});
	});
});
