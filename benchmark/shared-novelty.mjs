/**
 * Measures the cost of a memory shared by processes: node benchmark/shared-novelty.mjs [--quick] [--only
 * latency,throughput,entries,start] [--rows 100000]
 *
 * Scorers with a store on a PostgreSQL server, in an SQLite file, and without a store alternate in the same
 * processes, which are this program again, over texts in the memo.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { embed, Scorer, warmup } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { trace } from "../__test__/support/traces.mjs";
import { missing, startPostgres } from "../packages/stores/__test__/support/postgres.mjs";
import { generateVectors } from "./generate.mjs";
import { Child, inTurns, serve } from "./processes.mjs";
import { mapValues } from "./report.mjs";
import { median, quantile, timed } from "./statistics.mjs";

const { quick, only, rows } = parseArgs({
	options: {
		quick: { type: "boolean", default: false },
		only: { type: "string", default: "latency,throughput,entries,start" },
		rows: { type: "string", default: "100000" },
	},
}).values;

const ROUNDS = quick ? 3 : 9;
const CALLS = quick ? 1000 : 2000;
const IN_FLIGHT = [1, 8, 32];
const PROCESSES = [1, 2, 4];
/** Entries that are there when the snapshot is taken, and afterwards. */
const ROWS = Number(rows);
const NEWER = 1000;
/** Fewer than the memo keeps. */
const TEXTS = 500;

const traces = Array.from({ length: TEXTS }, (_, i) =>
	trace({ objective: `Find out why order ${i} has not been delivered` }),
);
const textsOf = (calls) => Array.from({ length: calls }, (_, number) => traces[number % TEXTS]);

/** What a process of the benchmark has opened. */
const scorers = new Map();
const stores = [];

/** The options of a scorer; `place` is that of its store, if it has one. */
function optionsOf({ place, namespace, cache }) {
	if (!place) return { cache };
	const Store = place.path ? SqliteStore : PostgresStore;
	const store = new Store({ ...place, namespace });
	stores.push(store);
	return { cache, store, storeMode: "required" };
}

/** Reads the whole store. */
async function warmUp(scorer) {
	const { store } = await scorer.warmup();
	if (store && store.state !== "ready") throw new Error(store.reason);
	return scorer;
}

const now = () => performance.timeOrigin + performance.now();

const OPERATIONS = {
	/** Puts the texts into the memo, and makes a scorer for each place. */
	async open({ places, namespace }) {
		for (const one of traces) await embed(one);
		for (const [name, place] of Object.entries(places))
			scorers.set(name, await warmUp(new Scorer(optionsOf({ place, namespace }))));
	},

	/** Reads what others have appended. */
	async follow({ name }) {
		await warmUp(scorers.get(name));
	},

	/** Scores with a number in flight; returns the milliseconds of each call. */
	async score({ name, calls, inFlight }) {
		const scorer = scorers.get(name);
		const began = now();
		const { times } = await timed(textsOf(calls), inFlight, (one) => scorer.evaluateValue(one));
		return { times, began, ended: now() };
	},

	/** Returns the bytes that a scorer reads from PostgreSQL for each entry that another one appends. */
	async mirror({ connectionString, novelty, calls }) {
		const sockets = [];
		const [one, other] = await Promise.all(
			[1, 2].map(() => {
				const pool = new pg.Pool({ connectionString });
				pool.on("connect", (client) => sockets.push(client.connection.stream));
				const { store, ...options } = optionsOf({ place: { pool }, namespace: novelty });
				return warmUp(new Scorer({ ...options, novelty, store }));
			}),
		);
		await one.evaluateValues(textsOf(calls));
		const read = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
		const before = read();
		await warmUp(other);
		return (read() - before) / calls;
	},

	/** Loads the model, then makes a scorer, from a snapshot if there is a `file`, and warms it up. */
	async start({ file, ...parameters }) {
		await warmup();
		globalThis.gc();
		const before = process.memoryUsage().rss;
		const options = optionsOf(parameters);
		const began = performance.now();
		const scorer = await warmUp(file ? await Scorer.open(file, options) : new Scorer(options));
		const ms = performance.now() - began;
		globalThis.gc();
		const { seq, isResumed } = scorer.status().store;
		if (isResumed !== Boolean(file)) throw new Error(`${file}: isResumed is ${isResumed}`);
		return { ms, seq, memory: process.memoryUsage().rss - before };
	},

	/** Makes a scorer that has read the store, and writes its snapshot. */
	async save({ file, ...parameters }) {
		const scorer = await warmUp(new Scorer(optionsOf(parameters)));
		await scorer.save(file);
	},

	/** Appends random vectors in large batches, like a scorer with this cache. */
	async fill({ count, ...parameters }) {
		const { store, ...others } = optionsOf(parameters);
		await warmUp(new Scorer({ ...others, store }));
		const { signal } = new AbortController();
		const options = { after: null, limit: 1, keepFrom: null, signal };
		// The page for another header has that of the namespace.
		const other = { model: "", maxElements: 1, ttlMs: null };
		const { header } = await store.read({ ...options, header: other });
		const entryOf = ({ buffer }) => ({
			kind: "add",
			call: randomUUID(),
			id: null,
			embedding: new Uint8Array(buffer),
		});
		const entries = Array.from(generateVectors(count, 1), entryOf);
		while (entries.length > 0) await store.append(entries.splice(0, 1000), { ...options, header });
	},

	async close() {
		for (const scorer of scorers.values()) scorer.close();
		await Promise.all(stores.map((store) => store.close()));
	},
};

/** Starts a process, which does one operation at a time. */
const startProcess = () => new Child("shared-novelty.mjs", [], { execArgv: ["--expose-gc"] });

async function stop(child) {
	await child.ask("close");
	await child.end();
}

/** The result of one operation in a new process. */
async function ask(op, parameters) {
	const child = startProcess();
	const result = await child.ask(op, parameters);
	await stop(child);
	return result;
}

/** The results of each side, in turns, without those of the first round. */
async function measured(sides, work) {
	const all = await inTurns(sides, 1 + ROUNDS, work);
	return mapValues(all, ([, ...results]) => results);
}

const show = (number) => number.toFixed(Math.abs(number) < 10 ? 2 : 0);
const thousands = (number) => Math.round(number).toLocaleString("en");
const row = (cells) => `| ${cells.join(" | ")} |`;

function table(title, head, rows) {
	console.log(`\n### ${title}\n`);
	console.log([row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n"));
}

/** Without a store, as the reference. */
const ALONE = "no store";

async function latency({ places }) {
	const one = startProcess();
	await one.ask("open", { places, namespace: "latency" });
	const rows = [];
	for (const inFlight of IN_FLIGHT) {
		const found = await measured(Object.keys(places), async (name) => {
			await one.ask("follow", { name });
			const { times } = await one.ask("score", { name, inFlight, calls: CALLS });
			return [0.5, 0.99].map((share) => quantile(times, share));
		});
		for (const [name, results] of Object.entries(found)) {
			const middle = (of) => [0, 1].map((at) => show(median(results.map(of(at)))));
			const added = (at) => (own, round) => own[at] - found[ALONE][round][at];
			rows.push([inFlight, name, ...middle((at) => (own) => own[at]), ...middle(added)]);
		}
	}
	await stop(one);
	const head = ["in flight", "", "p50", "p99", "added p50", "added p99"];
	table(`Milliseconds of a call, medians of ${ROUNDS} rounds of ${CALLS}`, head, rows);
}

async function throughput({ places }) {
	const all = Array.from({ length: PROCESSES.at(-1) }, startProcess);
	for (const one of all) await one.ask("open", { places, namespace: "throughput" });
	const names = Object.keys(places);
	const found = [];
	for (const count of PROCESSES) {
		const some = all.slice(0, count);
		const calls = Math.ceil((2 * CALLS) / count);
		const rates = await measured(names, async (name) => {
			for (const one of some) await one.ask("follow", { name });
			const results = await Promise.all(
				some.map((one) => one.ask("score", { name, calls, inFlight: 32 })),
			);
			const began = Math.min(...results.map((result) => result.began));
			const ended = Math.max(...results.map((result) => result.ended));
			return (1000 * calls * count) / (ended - began);
		});
		found.push(rates);
	}
	await Promise.all(all.map(stop));
	table(
		`Scores a second of all processes together, 32 in flight in each, medians of ${ROUNDS} rounds`,
		["processes", ...PROCESSES],
		names.map((name) => [name, ...found.map((rates) => thousands(median(rates[name])))]),
	);
}

async function entries({ places }) {
	const { connectionString } = places.PostgreSQL;
	const rows = [];
	for (const novelty of ["text", "run"]) {
		const bytes = await ask("mirror", { connectionString, novelty, calls: CALLS });
		rows.push([novelty, thousands(bytes)]);
	}
	table("Bytes that each process reads from PostgreSQL", ["novelty", "bytes of an entry"], rows);
}

async function start({ places, sizes }) {
	const cache = { maxElements: ROWS + NEWER };
	const sides = {};
	for (const [name, place] of Object.entries(places).filter(([, place]) => place)) {
		const common = { cache, place, namespace: "start" };
		const withSnapshot = { ...common, file: join(folder, `${name}.kpcache`) };
		await ask("fill", { ...common, count: ROWS });
		await ask("save", withSnapshot);
		await ask("fill", { ...common, count: NEWER });
		sides[name] = common;
		sides[`${name}, snapshot`] = withSnapshot;
	}
	const stored = await sizes();
	const found = await inTurns(Object.keys(sides), ROUNDS, async (side) => {
		const result = await ask("start", sides[side]);
		if (result.seq !== ROWS + NEWER) throw new Error(`${side}: only ${result.seq} entries`);
		return result;
	});
	const megabytes = (bytes) => thousands(bytes / 1e6);
	table(
		`Warm start with ${thousands(ROWS)} entries and ${thousands(NEWER)} newer than the snapshot, medians of ${ROUNDS} processes whose model is loaded`,
		["", "ms", "MB of memory", "MB stored, with indexes"],
		Object.entries(found).map(([side, results]) => [
			side,
			show(median(results.map(({ ms }) => ms))),
			megabytes(median(results.map(({ memory }) => memory))),
			side in stored ? megabytes(stored[side]) : "",
		]),
	);
}

const PARTS = { latency, throughput, entries, start };

let folder;

/** Runs the parts, each with new stores. A place is the address of a store, in a form that can be sent to a process. */
async function main() {
	if (missing) throw new Error(missing);
	folder = mkdtempSync(join(os.tmpdir(), "kp-benchmark-"));
	const server = await startPostgres({ parent: os.tmpdir() });
	try {
		const [{ server_version: version }] = await server.query("SHOW server_version");
		const cores = `${os.availableParallelism()} cores of ${os.cpus()[0].model}`;
		const load = `load ${os.loadavg()[0].toFixed(2)} before the start`;
		console.log(`${cores}, ${load}, Node.js ${process.version}, PostgreSQL ${version} on a socket`);
		for (const part of only.split(",")) {
			const database = await server.createDatabase();
			const path = join(folder, `${database}.db`);
			const host = encodeURIComponent(server.folder);
			const connectionString = `postgresql://postgres@/${database}?host=${host}`;
			const store = new PostgresStore({ connectionString });
			await store.migrate();
			await store.close();
			const relation = "SELECT pg_total_relation_size('kp_novelty.entries') AS size";
			await PARTS[part]({
				places: { [ALONE]: null, PostgreSQL: { connectionString }, SQLite: { path } },
				sizes: async () => ({
					PostgreSQL: Number((await server.query(relation, [], { database }))[0].size),
					SQLite: statSync(path).size,
				}),
			});
		}
	} finally {
		await server.stop();
		rmSync(folder, { recursive: true });
	}
}

if (process.send) serve(OPERATIONS);
else await main();
