/**
 * Measures the cost of a memory shared by processes: node benchmark/shared-novelty.mjs [--quick] [--only
 * latency,throughput,appends,start] [--rows 100000]
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
import { Child, turned } from "./processes.mjs";
import { median, quantile } from "./statistics.mjs";

const { quick, only, rows } = parseArgs({
	options: {
		quick: { type: "boolean", default: false },
		only: { type: "string", default: "latency,throughput,appends,start" },
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

const digits = (number) => (Math.abs(number) < 10 ? 2 : 0);
const show = (number) => (number === undefined ? "" : number.toFixed(digits(number)));
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
async function makePlaces(server, folder) {
	const database = await server.createDatabase();
	const path = join(folder, `${database}.db`);
	const host = encodeURIComponent(server.folder);
	const connectionString = `postgresql://postgres@/${database}?host=${host}`;
	const store = new PostgresStore({ connectionString });
	await store.migrate();
	await store.close();
	const relation = "SELECT pg_total_relation_size('kp_novelty_entries') AS size";
	return {
		places: {
			[ALONE]: undefined,
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
	await one.ask("embed");
	const names = Object.keys(places);
	for (const name of names)
		await one.ask("open", { name, place: places[name], namespace: "latency" });
	const found = new Map();
	// The first round is not measured.
	for (let round = -1; round < ROUNDS; round++)
		for (const inFlight of IN_FLIGHT) {
			const ofRound = {};
			for (const name of turned(names, round + 1)) {
				await one.ask("follow", { name });
				const { times, loop } = await one.ask("score", { name, inFlight, calls: CALLS });
				const shares = { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
				ofRound[name] = { ...shares, loop };
			}
			if (round >= 0) found.set(inFlight, [...(found.get(inFlight) ?? []), ofRound]);
		}
	await stop(one);
	const rows = [...found].flatMap(([inFlight, rounds]) =>
		names.map((name) => {
			const middle = (of) => median(rounds.map((round) => of(round[name], round)));
			const added = (share) =>
				name === ALONE ? "" : `+${show(middle((own, round) => own[share] - round[ALONE][share]))}`;
			return [
				inFlight,
				name,
				show(middle(({ p50 }) => p50)),
				show(middle(({ p99 }) => p99)),
				added("p50"),
				added("p99"),
				show(middle(({ loop }) => loop.p99)),
				show(middle(({ loop }) => loop.max)),
			];
		}),
	);
	table(
		`Milliseconds of a call, medians of ${ROUNDS} rounds of ${CALLS}`,
		["in flight", "", "p50", "p99", "added p50", "added p99", "loop p99", "loop max"],
		rows,
	);
}

async function throughput({ places }) {
	const processes = PROCESSES.at(-1);
	const all = Array.from({ length: processes }, startProcess);
	const names = Object.keys(places);
	for (const one of all) {
		await one.ask("embed");
		for (const name of names)
			await one.ask("open", { name, place: places[name], namespace: "throughput" });
	}
	const found = Object.fromEntries(names.map((name) => [name, PROCESSES.map(() => [])]));
	for (let round = -1; round < ROUNDS; round++)
		for (const [index, count] of PROCESSES.entries())
			for (const name of turned(names, round + 1)) {
				const some = all.slice(0, count);
				for (const one of some) await one.ask("follow", { name });
				const calls = Math.ceil((2 * CALLS) / count);
				const results = await Promise.all(
					some.map((one) => one.ask("score", { name, calls, inFlight: 32 })),
				);
				const began = Math.min(...results.map((result) => result.began));
				const ended = Math.max(...results.map((result) => result.ended));
				if (round >= 0) found[name][index].push((1000 * calls * count) / (ended - began));
			}
	await Promise.all(all.map(stop));
	table(
		`Scores a second of all processes together, 32 in flight in each, medians of ${ROUNDS} rounds`,
		["", ...PROCESSES.map((count) => `${count} process${count > 1 ? "es" : ""}`)],
		names.map((name) => [name, ...found[name].map((rates) => thousands(median(rates)))]),
	);
}

async function appends({ places }) {
	const names = Object.keys(places).filter((name) => name !== ALONE);
	const rows = [];
	for (const isReading of [false, true])
		for (const batch of BATCHES) {
			const found = Object.fromEntries(names.map((name) => [name, []]));
			for (let round = 0; round < Math.ceil(ROUNDS / 3); round++)
				for (const name of turned(names, round)) {
					const one = startProcess();
					const { count, ms } = await one.ask("append", {
						place: places[name],
						connections: CONNECTIONS,
						namespace: `${name} ${batch} ${isReading} ${round}`,
						batch,
						isReading,
						ms: APPENDING_MS,
					});
					await stop(one);
					found[name].push((1000 * count) / ms);
				}
			rows.push([
				isReading ? "each reads what the others append" : "appending alone",
				batch,
				...names.map((name) => thousands(median(found[name]))),
			]);
		}
	table(
		`Entries a second appended by ${CONNECTIONS} connections of one process`,
		["", "entries in a batch", ...names],
		rows,
	);
}

async function start({ places, sizes }) {
	const names = ["PostgreSQL", "SQLite"];
	const cache = { maxElements: ROWS + NEWER };
	const found = {};
	for (const name of names) {
		const common = { cache, place: places[name], namespace: "start" };
		const withSnapshot = { ...common, file: join(folder, `${name}.kpcache`) };
		const one = startProcess();
		await one.ask("fill", { ...common, rows: ROWS });
		await one.ask("save", withSnapshot);
		await one.ask("fill", { ...common, rows: NEWER });
		await stop(one);
		found[name] = { parameters: common, all: [] };
		found[`${name}, snapshot`] = { parameters: withSnapshot, all: [] };
	}
	const stored = await sizes();
	for (let round = 0; round < ROUNDS; round++)
		for (const side of turned(Object.keys(found), round)) {
			const { parameters, all } = found[side];
			const one = startProcess();
			const result = await one.ask("start", parameters);
			await stop(one);
			if (result.seq !== ROWS + NEWER) throw new Error(`${side}: only ${result.seq} entries`);
			all.push(result);
		}
	const title = `Warm start with ${thousands(ROWS)} entries and ${thousands(NEWER)} newer than the snapshot`;
	table(
		`${title}, medians of ${ROUNDS} processes whose model is loaded`,
		["", "ms", "ms of CPU", "loop p50", "loop p99", "loop max", "idle loop p99"],
		Object.entries(found).map(([side, { all }]) => [
			side,
			...[
				({ ms }) => ms,
				({ cpu }) => cpu,
				({ loop }) => loop.p50,
				({ loop }) => loop.p99,
				({ loop }) => loop.max,
				({ idle }) => idle.p99,
			].map((of) => show(median(all.map(of)))),
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
			megabytes(median(found[name].all.map(({ memory }) => memory))),
		]),
	);
}

const PARTS = { latency, throughput, appends, start };

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
		await PARTS[name](await makePlaces(server, folder));
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
