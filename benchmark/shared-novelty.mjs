/**
 * Measures the cost of a memory shared by processes: node benchmark/shared-novelty.mjs [--quick] [--only
 * latency,throughput,appends,fleet,start] [--rows 100000]
 *
 * Scorers with a store on a PostgreSQL server, in an SQLite file, and without a store alternate in the same
 * processes, over texts in the memo.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { missing, startPostgres } from "../packages/stores/__test__/support/postgres.mjs";
import { Child, inTurns } from "./processes.mjs";
import { mapValues } from "./report.mjs";
import { median, quantile } from "./statistics.mjs";

const { quick, only, rows } = parseArgs({
	options: {
		quick: { type: "boolean", default: false },
		only: { type: "string", default: "latency,throughput,appends,fleet,start" },
		rows: { type: "string", default: "100000" },
	},
}).values;

const ROUNDS = quick ? 3 : 9;
const IN_FLIGHT = [1, 8, 32];
const CALLS = quick ? 1000 : 2000;
const PROCESSES = [1, 2, 4];
const BATCHES = [1, 8, 64];
const CONNECTIONS = 8;
const APPENDING_MS = quick ? 500 : 1500;
/** Processes that share a namespace, each with a mirror. */
const FLEET = 8;
/** Entries that are there when the snapshot is taken, and afterwards. */
const ROWS = Number(rows);
const NEWER = 1000;

/** Starts a process, which does one command at a time. */
function startProcess() {
	return new Child("shared-novelty/process.mjs", [], { execArgv: ["--expose-gc"] });
}

async function stop(child) {
	await child.ask("close");
	await child.end();
}

/** The result of one command in a new process. */
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

/** The share of the cores that other programs use, measured while this script waits. */
async function busy() {
	const read = () => {
		const all = os.cpus().map(({ times }) => times);
		const idle = all.reduce((sum, times) => sum + times.idle, 0);
		const total = all.flatMap(Object.values).reduce((sum, ms) => sum + ms, 0);
		return { idle, total };
	};
	const before = read();
	await sleep(2000);
	const after = read();
	return 1 - (after.idle - before.idle) / (after.total - before.total);
}

/** Without a store, as the reference. */
const ALONE = "no store";

/** New stores, and their sizes in bytes. A place is the address of a store, in a form that can be sent to a process. */
async function makePlaces() {
	const database = await server.createDatabase();
	const path = join(folder, `${database}.db`);
	const host = encodeURIComponent(server.folder);
	const connectionString = `postgresql://postgres@/${database}?host=${host}`;
	const store = new PostgresStore({ connectionString });
	await store.migrate();
	await store.close();
	const relation = "SELECT pg_total_relation_size('kp_novelty.entries') AS size";
	return {
		places: {
			[ALONE]: null,
			PostgreSQL: { connectionString },
			"PostgreSQL, commit awaited": { connectionString, durable: true },
			SQLite: { path },
		},
		sizes: async () => ({
			PostgreSQL: Number((await server.query(relation, [], { database }))[0].size),
			SQLite: statSync(path).size,
		}),
	};
}

async function latency({ places }) {
	const one = startProcess();
	await one.ask("open", { places, namespace: "latency" });
	const rows = [];
	for (const inFlight of IN_FLIGHT) {
		const found = await measured(Object.keys(places), async (name) => {
			await one.ask("follow", { name });
			const { times, loop } = await one.ask("score", { name, inFlight, calls: CALLS });
			return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), loop };
		});
		for (const [name, results] of Object.entries(found)) {
			const middle = (of) => show(median(results.map(of)));
			const added = (share) =>
				name === ALONE ? "" : `+${middle((own, round) => own[share] - found[ALONE][round][share])}`;
			rows.push([
				inFlight,
				name,
				middle(({ p50 }) => p50),
				middle(({ p99 }) => p99),
				added("p50"),
				added("p99"),
				middle(({ loop }) => loop.p99),
				middle(({ loop }) => loop.max),
			]);
		}
	}
	await stop(one);
	table(
		`Milliseconds of a call, medians of ${ROUNDS} rounds of ${CALLS}`,
		["in flight", "", "p50", "p99", "added p50", "added p99", "loop p99", "loop max"],
		rows,
	);
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
		["", ...PROCESSES.map((count) => `${count} process${count > 1 ? "es" : ""}`)],
		names.map((name) => [name, ...found.map((rates) => thousands(median(rates[name])))]),
	);
}

async function appends({ places }) {
	const names = Object.keys(places).filter((name) => name !== ALONE);
	const rows = [];
	for (const isReading of [false, true])
		for (const batch of BATCHES) {
			const found = await inTurns(names, Math.ceil(ROUNDS / 3), async (name, round) => {
				const { count, ms } = await ask("append", {
					place: places[name],
					connections: CONNECTIONS,
					namespace: `${name} ${batch} ${isReading} ${round}`,
					batch,
					isReading,
					ms: APPENDING_MS,
				});
				return (1000 * count) / ms;
			});
			rows.push([
				isReading ? "each reads what the others append" : "appending alone",
				batch,
				...Object.values(found).map((rates) => thousands(median(rates))),
			]);
		}
	table(
		`Entries a second appended by ${CONNECTIONS} connections of one process`,
		["", "entries in a batch", ...names],
		rows,
	);
}

/** What a namespace carries: each of the processes scores, and mirrors what the others append. */
async function fleet({ places }) {
	const rows = [];
	for (const novelty of ["text", "run"]) {
		const all = Array.from({ length: FLEET }, startProcess);
		const { connectionString } = places.PostgreSQL;
		for (const one of all) await one.ask("join", { connectionString, novelty, namespace: novelty });
		const { rounds } = await measured(["rounds"], async () => {
			const results = await Promise.all(all.map((one) => one.ask("share", { ms: APPENDING_MS })));
			const seconds = Math.max(...results.map(({ ms }) => ms)) / 1000;
			const count = results.reduce((sum, result) => sum + result.count, 0);
			const bytes = median(results.map((result) => result.bytes));
			return { rate: count / seconds, megabytes: bytes / seconds / 1e6, each: bytes / count };
		});
		await Promise.all(all.map(stop));
		const middle = (of) => median(rounds.map(of));
		rows.push([
			novelty,
			thousands(middle(({ rate }) => rate)),
			show(middle(({ megabytes }) => megabytes)),
			thousands(middle(({ each }) => each)),
		]);
	}
	table(
		`What ${FLEET} processes append to a namespace of PostgreSQL, 32 in flight in each, medians of ${ROUNDS} rounds`,
		["novelty", "entries a second", "MB a second to each mirror", "bytes of an entry"],
		rows,
	);
}

async function start({ places, sizes }) {
	const names = ["PostgreSQL", "SQLite"];
	const cache = { maxElements: ROWS + NEWER };
	const sides = {};
	for (const name of names) {
		const common = { cache, place: places[name], namespace: "start" };
		const withSnapshot = { ...common, file: join(folder, `${name}.kpcache`) };
		await ask("fill", { ...common, rows: ROWS });
		await ask("save", withSnapshot);
		await ask("fill", { ...common, rows: NEWER });
		sides[name] = common;
		sides[`${name}, snapshot`] = withSnapshot;
	}
	const stored = await sizes();
	const found = await inTurns(Object.keys(sides), ROUNDS, async (side) => {
		const result = await ask("start", sides[side]);
		if (result.seq !== ROWS + NEWER) throw new Error(`${side}: only ${result.seq} entries`);
		return result;
	});
	const title = `Warm start with ${thousands(ROWS)} entries and ${thousands(NEWER)} newer than the snapshot`;
	table(
		`${title}, medians of ${ROUNDS} processes whose model is loaded`,
		["", "ms", "ms of CPU", "loop p50", "loop p99", "loop max", "idle loop p99"],
		Object.entries(found).map(([side, results]) => [
			side,
			...[
				({ ms }) => ms,
				({ cpu }) => cpu,
				({ loop }) => loop.p50,
				({ loop }) => loop.p99,
				({ loop }) => loop.max,
				({ idle }) => idle.p99,
			].map((of) => show(median(results.map(of)))),
		]),
	);
	const scale = 1_000_000 / (ROWS + NEWER);
	const megabytes = (bytes) => thousands((bytes * scale) / 1e6);
	table(
		`Megabytes for 1,000,000 entries, scaled from ${thousands(ROWS + NEWER)}`,
		["", "stored, with indexes", "memory of a process"],
		names.map((name) => [
			name,
			megabytes(stored[name]),
			megabytes(median(found[name].map(({ memory }) => memory))),
		]),
	);
}

const PARTS = { latency, throughput, appends, fleet, start };

if (missing) throw new Error(missing);
const folder = mkdtempSync(join(os.tmpdir(), "kp-benchmark-"));
const server = await startPostgres({ parent: os.tmpdir() });
try {
	const [{ server_version: version }] = await server.query("SHOW server_version");
	const { model } = os.cpus()[0];
	console.log(
		`${os.availableParallelism()} cores of ${model}, Node.js ${process.version}, PostgreSQL ${version} on a socket`,
	);
	const loads = [];
	for (const name of only.split(",")) {
		loads.push(await busy());
		await PARTS[name](await makePlaces());
	}
	loads.push(await busy());
	const shares = loads.map((share) => `${Math.round(100 * share)}%`);
	console.log(
		`\nLoad of the cores by other programs, before each part and at the end: ${shares.join(", ")}`,
	);
} finally {
	await server.stop();
	rmSync(folder, { recursive: true });
}
