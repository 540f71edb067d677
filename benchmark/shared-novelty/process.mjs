/**
 * A process of benchmark/shared-novelty.mjs. It runs the commands of its parent one at a time, and sends the
 * results.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { embed, Scorer, warmup } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { trace } from "../../__test__/support/traces.mjs";
import { generateVectors } from "../generate.mjs";
import { serve } from "../processes.mjs";
import { LOOP_RESOLUTION, timed, watched } from "../statistics.mjs";

/** Entries in a page, as scorers ask for them. */
const PAGE = 192;
const IDLE_MS = 1000;
/** Calls in flight in a process of a fleet. */
const SHARED_IN_FLIGHT = 32;
/** Fewer than the memo keeps. */
const TEXTS = 500;

const traces = Array.from({ length: TEXTS }, (_, i) =>
	trace({ objective: `Find out why order ${i} has not been delivered` }),
);

const scorers = new Map();
/** The connections to PostgreSQL of a process of a fleet. */
const sockets = [];
const stores = [];

function open(place, namespace) {
	const Store = place.path ? SqliteStore : PostgresStore;
	const store = new Store({ ...place, namespace });
	stores.push(store);
	return store;
}

/** An entry with this vector. */
function add({ buffer }) {
	return { kind: "add", call: randomUUID(), id: null, embedding: new Uint8Array(buffer) };
}

/** Reads the whole store. */
async function warmUp(scorer) {
	const { store } = await scorer.warmup();
	if (store && store.state !== "ready") throw new Error(store.reason);
	return scorer;
}

/** The options of a scorer; `place` is that of its store, if it has one. */
const optionsOf = ({ place, namespace, cache }) =>
	place ? { cache, store: open(place, namespace), storeMode: "required" } : { cache };

const now = () => performance.timeOrigin + performance.now();

/** The result of `work`, and the delay of the event loop beyond the resolution. */
async function delayed(work) {
	const { result, loop } = await watched(work);
	const beyond = ([name, ms]) => [name, Math.max(0, ms - LOOP_RESOLUTION)];
	return { ...result, loop: Object.fromEntries(Object.entries(loop).map(beyond)) };
}

serve({
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
		const all = Array.from({ length: calls }, (_, number) => traces[number % TEXTS]);
		return delayed(async () => {
			const began = now();
			const { times } = await timed(all, inFlight, (one) => scorer.evaluateValue(one));
			return { times, began, ended: now() };
		});
	},

	/**
	 * Loads the model, watches the idle event loop, then makes a scorer, from a snapshot if there is a `file`, and
	 * warms it up.
	 */
	async start({ file, ...parameters }) {
		await warmup();
		const idle = await delayed(() => sleep(IDLE_MS));
		globalThis.gc();
		const before = process.memoryUsage().rss;
		const options = optionsOf(parameters);
		let scorer;
		const result = await delayed(async () => {
			const began = performance.now();
			const used = process.cpuUsage();
			scorer = await warmUp(file ? await Scorer.open(file, options) : new Scorer(options));
			const { user, system } = process.cpuUsage(used);
			return { ms: performance.now() - began, cpu: (user + system) / 1000 };
		});
		globalThis.gc();
		const { seq, isResumed } = scorer.status().store;
		if (isResumed !== Boolean(file)) throw new Error(`${file}: isResumed is ${isResumed}`);
		return { ...result, idle: idle.loop, seq, memory: process.memoryUsage().rss - before };
	},

	/** Makes a scorer that has read the store, and writes its snapshot. */
	async save({ file, ...parameters }) {
		const scorer = await warmUp(new Scorer(optionsOf(parameters)));
		await scorer.save(file);
	},

	/** Appends random vectors in large batches, like a scorer with this cache. */
	async fill({ rows, ...parameters }) {
		const scoring = optionsOf(parameters);
		await warmUp(new Scorer(scoring));
		const { signal } = new AbortController();
		const options = { after: null, limit: 1, keepFrom: null, signal };
		// The page for another header has that of the namespace.
		const other = { model: "", maxElements: 1, ttlMs: null };
		const { header } = await scoring.store.read({ ...options, header: other });
		const vectors = generateVectors(rows, 1);
		for (let left = rows; left > 0; left -= 1000) {
			const entries = Array.from({ length: Math.min(left, 1000) }, () => add(vectors.next().value));
			await scoring.store.append(entries, { ...options, header });
		}
	},

	/** Makes a scorer on PostgreSQL whose connections are counted. */
	async join({ connectionString, namespace, novelty }) {
		const pool = new pg.Pool({ connectionString, max: 4 });
		pool.on("connect", (client) => sockets.push(client.connection.stream));
		const scorer = new Scorer({ novelty, store: open({ pool }, namespace), storeMode: "required" });
		for (const one of traces) await scorer.embed(one);
		scorers.set(namespace, await warmUp(scorer));
	},

	/** Scores for a time; returns the number of traces, the milliseconds, and the bytes that came from the store. */
	async share({ ms }) {
		const [scorer] = scorers.values();
		const read = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
		const [began, before] = [performance.now(), read()];
		let count = 0;
		const loop = async () => {
			while (performance.now() < began + ms) await scorer.evaluateValue(traces[count++ % TEXTS]);
		};
		await Promise.all(Array.from({ length: SHARED_IN_FLIGHT }, loop));
		return { count, ms: performance.now() - began, bytes: read() - before };
	},

	/**
	 * Appends to the store from several connections without scorers; with `isReading`, each reads what the others
	 * append. Returns the number of entries and the milliseconds.
	 */
	async append({ place, namespace, connections, batch, isReading, ms }) {
		const own = Array.from({ length: connections }, () => open(place, namespace));
		const ready = [...generateVectors(256, 2)];
		const { signal } = new AbortController();
		const header = { model: "benchmark", maxElements: 1000, ttlMs: null };
		let count = 0;
		async function connection(store) {
			let after = null;
			const limit = isReading ? PAGE : 1;
			const options = () => ({ header, after, keepFrom: null, signal, limit });
			function follow({ epoch, entries }) {
				const last = entries.at(-1);
				if (isReading && last) after = { epoch, seq: last.seq, call: last.call };
			}
			// Connects.
			follow(await store.append([], options()));
			return async (end) => {
				while (performance.now() < end) {
					const entries = Array.from({ length: batch }, () => add(ready[count++ % ready.length]));
					let page = await store.append(entries, options());
					follow(page);
					while (isReading && after.seq < page.head) {
						page = await store.read(options());
						follow(page);
					}
				}
			};
		}
		const loops = await Promise.all(own.map(connection));
		const began = performance.now();
		await Promise.all(loops.map((loop) => loop(began + ms)));
		return { count, ms: performance.now() - began };
	},

	async close() {
		for (const scorer of scorers.values()) scorer.close();
		await Promise.all(stores.map((store) => store.close()));
	},
});
