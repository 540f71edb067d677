/** Locks of files, for one process at a time. A lock whose process has died is taken over. */
const { randomUUID } = require("node:crypto");
const { readFileSync, readlinkSync } = require("node:fs");
const fs = require("node:fs/promises");
const { hostname, uptime } = require("node:os");
const { setTimeout: sleep } = require("node:timers/promises");
const { until } = require("@knowledgepulse/scoring/internal/signals");

/** The pause between attempts, varied so that waiting processes do not keep step. */
const PAUSE_MS = 50;

/** How inexact the time since the start of the system may be. */
const TOLERANCE_MS = 60_000;

/** Where the number of a process means something: this computer, and on Linux this container. */
const PLACE = (() => {
	try {
		return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
	} catch {
		return hostname();
	}
})();

/** What is unique to a running process of Linux besides its number: when it was started. */
function startOf(pid) {
	try {
		// The name of the program, in parentheses, may contain anything.
		const text = readFileSync(`/proc/${pid}/stat`, "latin1");
		return text.slice(text.lastIndexOf(")")).split(" ")[20];
	} catch {
		return undefined;
	}
}

/** Whether the process of a lock may still run. That of another place may. */
function isAlive({ pid, place, start, at }) {
	if (place !== PLACE) return true;
	if (at < Date.now() - uptime() * 1000 - TOLERANCE_MS) return false;
	try {
		process.kill(pid, 0);
	} catch (error) {
		if (error.code === "ESRCH") return false;
	}
	const found = startOf(pid);
	return start === undefined || found === undefined || start === found;
}

/** Returns what is in a lock; undefined if there is none, or its process has just created it. */
async function ownerOf(path) {
	try {
		return JSON.parse(await fs.readFile(path, "utf8"));
	} catch (error) {
		if (error.code === "ENOENT" || error instanceof SyntaxError) return undefined;
		throw error;
	}
}

/** Creates a file with its contents, unless it exists. Returns whether it did. */
async function create(path, text) {
	const temporary = `${path}.${randomUUID()}`;
	try {
		await fs.writeFile(temporary, text, { flag: "wx", mode: 0o644 });
		// Nobody sees it without its contents.
		await fs.link(temporary, path).catch((error) => {
			if (error.code === "EEXIST") throw error;
			// Some file systems have no links.
			return fs.writeFile(path, text, { flag: "wx" });
		});
		return true;
	} catch (error) {
		if (error.code !== "EEXIST") throw error;
		return false;
	} finally {
		await fs.rm(temporary, { force: true });
	}
}

/**
 * Takes the lock at `path`, as soon as no living process has it. `wait` is called with its owner before each pause, and
 * waits. Returns a function that releases it.
 *
 * The lock of a dead process is replaced by whoever takes the lock of that lock, which is named by its token. A token is
 * used once, so it does not matter how long ago a process has read it: it can only find that the token is gone.
 */
async function lock(path, wait) {
	const token = randomUUID();
	const { pid } = process;
	const text = JSON.stringify({ token, pid, place: PLACE, start: startOf(pid), at: Date.now() });
	const release = () => fs.rm(path, { force: true });
	for (;;) {
		if (await create(path, text)) return release;
		const owner = await ownerOf(path);
		if (owner && !isAlive(owner)) {
			const releaseOwn = await lock(`${path}.${owner.token}`, wait);
			try {
				if ((await ownerOf(path))?.token === owner.token) {
					const temporary = `${path}.${token}`;
					await fs.writeFile(temporary, text, { flag: "wx", mode: 0o644 });
					await fs.rename(temporary, path);
					return release;
				}
			} finally {
				await releaseOwn();
			}
		} else await wait(owner);
	}
}

/** Waits for the lock of a file; `say` is called once if another process has it. Returns a function that releases it. */
exports.lockFile = function lockFile(file, { signal, say }) {
	const path = `${file}.lock`;
	let isSaid = false;
	return lock(path, async (owner) => {
		if (owner && !isSaid) {
			isSaid = true;
			say(`waiting for process ${owner.pid}, which uses ${file} (its lock is ${path})`);
		}
		await until(signal, sleep(PAUSE_MS * (0.5 + Math.random())));
	});
};
