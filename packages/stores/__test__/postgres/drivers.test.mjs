/** The store works with every way in which `pg` is set up, wrapped and pooled, and with any answer of a server. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { startProgram } from "../../../../tools/lib/process.mjs";
import pg, { version } from "../support/driver.mjs";
import { add, callsOf, clear, end, forget, options, readAll } from "../support/entries.mjs";
import { missing, startForStores } from "../support/postgres.mjs";

const { server } = await startForStores({ after });

let count = 0;

/** Uses a store on a pool in every way, and ends it. */
async function use(pool) {
	const store = new PostgresStore({ pool, namespace: `drivers ${++count}` });
	const entries = [add("a"), add("é", Buffer.alloc(1536, 200)), forget("b")];
	const page = await store.append(entries, options());
	await store.append([], options({ after: end(page) }));
	const found = await readAll(store);
	assert.deepEqual(callsOf(found), callsOf(entries));
	assert.deepEqual(found[1].embedding, entries[1].embedding);
	await Promise.all(Array.from({ length: 8 }, () => store.append([add()], options())));
	await store.append([clear()], options());
	assert.equal((await store.read(options())).head, 12);
	await store.close();
	await pool.end();
}

describe("drivers", { skip: missing }, () => {
	for (const [what, config] of [
		["query_timeout and statement_timeout", { query_timeout: 600_000, statement_timeout: 600_000 }],
		["pipeline", { pipeline: true, max: 2 }],
		["binary results", { binary: true }],
		["parsers of its own", { types: { getTypeParser: () => () => "parsed" } }],
	])
		test(`a store works with a pool that has ${what}, and leaves no timer`, async () => {
			const timers = () =>
				process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
			const before = timers();
			await use(new pg.Pool(server.config({ idleTimeoutMillis: 0, ...config })));
			assert.ok(timers() <= before, `${timers()} timers, ${before} before`);
		});

	for (const config of [{ query_timeout: 50 }, { statement_timeout: 50 }])
		test(`a store rejects what exceeds ${Object.keys(config)}, and goes on`, async () => {
			const namespace = `drivers ${++count}`;
			const holder = new pg.Client(server.config());
			await holder.connect();
			await holder.query("SELECT pg_advisory_lock(hashtextextended($1, 7220))", [namespace]);
			const pool = new pg.Pool(server.config(config));
			const store = new PostgresStore({ pool, namespace });
			await assert.rejects(store.append([add()], options()), /timeout/);
			await holder.end();
			const deadline = Date.now() + 30_000;
			let page;
			// The server may still be waking the first call.
			while (!page && Date.now() < deadline)
				page = await store.append([add()], options()).catch(() => undefined);
			assert.ok(page?.head >= 1);
			await pool.end();
		});

	test("a store works with clients that a tracer wraps", async () => {
		class Client extends pg.Client {
			/** Observes the end of a query, which it finds in the queue. */
			query(...args) {
				const promise = super.query(...args);
				const queue = this._queryQueue ?? this.queryQueue;
				const query = queue[queue.length - 1] ?? this._activeQuery ?? this.activeQuery;
				if (query.callback) {
					const { callback } = query;
					query.callback = (error, result) => {
						Client.ended += 1;
						callback(error, result);
					};
				} else query.then(() => {});
				assert.equal(typeof query.text, "string");
				return promise;
			}
		}
		Client.ended = 0;
		await use(new pg.Pool({ ...server.config(), Client }));
		assert.ok(Client.ended > 10);
	});

	for (const parameters of [
		"sslmode=disable",
		"sslmode=prefer&channel_binding=prefer&application_name=a",
		"sslmode=require&channel_binding=require",
	])
		test(`a store takes a connection string with ${parameters}`, async () => {
			const host = encodeURIComponent(server.folder);
			const connectionString = `postgres://postgres@/postgres?host=${host}&${parameters}`;
			const store = new PostgresStore({ connectionString });
			const read = store.read(options());
			// The server has no certificate.
			if (parameters.includes("disable")) await read;
			else await assert.rejects(read, /SSL/);
			await store.close();
		});

	const pgbouncer = spawnSync("pgbouncer", ["--version"]).status === 0;
	test("a store works with PgBouncer in transaction mode", {
		skip: !pgbouncer && "no pgbouncer",
	}, async () => {
		const bouncer = await startBouncer();
		const { config } = bouncer;
		try {
			await use(new pg.Pool({ ...config, max: 8 }));
			await use(new pg.Pool({ ...config, database: "serializable", max: 8 }));
		} finally {
			await bouncer.stop();
		}
	});
});

/** Starts PgBouncer, with fewer connections to the server than clients have to it. */
async function startBouncer() {
	const { folder } = server;
	const port = 6432;
	const path = join(folder, "pgbouncer.ini");
	const place = `host=${folder} user=postgres pool_size=2`;
	writeFileSync(
		path,
		`[databases]
		postgres = ${place}
		serializable = ${place} dbname=postgres connect_query='SET default_transaction_isolation = serializable'
		[pgbouncer]
		listen_addr =
		listen_port = ${port}
		unix_socket_dir = ${folder}
		auth_type = any
		pool_mode = transaction`.replace(/^\t+/gm, ""),
	);
	const prefix =
		process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
	const program = startProgram([...prefix, "pgbouncer", path], { cwd: folder });
	const config = { host: folder, port, user: "postgres", database: "postgres" };
	for (let attempt = 0; ; attempt++) {
		const client = new pg.Client(config);
		client.on("error", () => {});
		try {
			await client.connect();
			await client.end();
			break;
		} catch (error) {
			if (attempt === 200)
				throw new Error(`no PgBouncer: ${program.output.stderr}`, { cause: error });
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	}
	return {
		config,
		async stop() {
			const ended = once(program.child, "close");
			program.child.kill("SIGKILL");
			await ended;
		},
	};
}

/** A message of a server. */
function message(type, ...parts) {
	const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
	const head = Buffer.alloc(5);
	head.write(type);
	head.writeInt32BE(body.length + 4, 1);
	return Buffer.concat([head, body]);
}

const int16 = (value) => [value >> 8, value & 255];
const zeros = (count) => Array(count).fill(0);
const field = (name, oid) => [...Buffer.from(`${name}\0`), ...zeros(9), oid, ...zeros(8)];

/** Messages that a server may send while it answers a query. */
const ANSWERS = {
	parseComplete: message("1"),
	bindComplete: message("2"),
	noData: message("n"),
	rowDescription: message(
		"T",
		int16(3),
		field("page", 114),
		field("entries", 114),
		field("embeddings", 25),
	),
	otherDescription: message("T", int16(1), field("x", 17)),
	row: message("D", int16(3), [0, 0, 0, 2], "{}", [255, 255, 255, 255], [255, 255, 255, 255]),
	otherRow: message("D", int16(1), [0, 0, 0, 1], "x"),
	emptyRow: message("D", int16(0)),
	commandComplete: message("C", "SELECT 1\0"),
	copyIn: message("G", [0], int16(0)),
	copyOut: message("H", [1], int16(0)),
	copyData: message("d", "x"),
	copyDone: message("c"),
	emptyQuery: message("I"),
	portalSuspended: message("s"),
	notice: message("N", "SNOTICE\0C00000\0Mhello\0\0"),
	error: message("E", "SERROR\0VERROR\0CXX000\0Mbroken\0\0"),
	parameter: message("S", "name\0value\0"),
};
const READY = message("Z", "I");

/** Starts a server that answers every query with `answer()`. */
async function startImpostor(answer) {
	const impostor = createServer((socket) => {
		let isStarted = false;
		socket.on("error", () => {});
		socket.on("data", (data) => {
			if (!isStarted) socket.write(Buffer.concat([message("R", [0, 0, 0, 0]), READY]));
			// Sync, or a simple query.
			else if (data[0] === 0x51 || data.subarray(-5).equals(message("S"))) socket.write(answer());
			// CopyFail.
			else if (data[0] === 0x66) socket.write(READY);
			isStarted = true;
		});
	}).listen(0);
	await once(impostor, "listening");
	return impostor;
}

test("a server's unexpected answers make calls reject, and end nothing else", async () => {
	let names;
	const impostor = await startImpostor(() =>
		Buffer.concat([...names.map((name) => ANSWERS[name]), READY]),
	);
	const config = { host: "127.0.0.1", port: impostor.address().port, user: "a", database: "a" };
	const pool = new pg.Pool({ ...config, max: 1 });
	const store = new PostgresStore({ pool });
	const all = Object.keys(ANSWERS);
	// An earlier driver fails where an answer goes on after its error.
	const [major, minor] = version;
	const first = major > 8 || minor >= 18 ? all : all.filter((name) => name !== "error");
	const pairs = first.flatMap((one) => all.map((other) => [one, other]));
	// Which is a page, though not a valid one.
	const isPage = () => names[0]?.endsWith("Description") && names[1] === "row";
	for (names of [[], ...all.map((name) => [name]), ...pairs])
		for (const method of ["read", "append"]) {
			const call = options({ signal: AbortSignal.timeout(2000) });
			const sent = method === "read" ? store.read(call) : store.append([add()], call);
			const found = await sent.catch((error) => error);
			assert.ok(
				found instanceof Error || isPage(),
				`${method}, ${names}: ${JSON.stringify(found)}`,
			);
		}
	await pool.end();
	impostor.close();
});
