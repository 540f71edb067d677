/** What SQLite runs in beside the caller's thread, so that nothing blocks the event loop. */
const { fork } = require("node:child_process");
const { isBuiltin } = require("node:module");
const { join } = require("node:path");
const { Worker } = require("node:worker_threads");
const { HAS_SQLITE } = require("./file.js");

const FILE = join(__dirname, "worker.js");
/** A variable in the environment of a store's process. */
const MARK = "KNOWLEDGEPULSE_STORE_PROCESS";

/**
 * Whether this executable runs its own program, whatever file it is given: started for a store, it would start another one,
 * without end. Before Node.js 20.12 only the second one can tell.
 */
exports.isProgram = () =>
	MARK in process.env || (isBuiltin("node:sea") && require("node:sea").isSea());

/** Nothing that the application preloads, except for Yarn's way to find files. */
function inherited(...own) {
	const { NODE_OPTIONS, ...env } = process.env;
	const pnp = process.versions.pnp ? ["--require", require.resolve("pnpapi")] : [];
	// `node:sqlite` says that it is experimental.
	return { execArgv: [...pnp, ...own], env: { ...env, NODE_NO_WARNINGS: "1", [MARK]: "1" } };
}

/** Starts a thread, or a process if there is no such SQLite. `hold(true)` lets it keep this process alive. */
exports.start = function start() {
	if (HAS_SQLITE) {
		const worker = new Worker(FILE, { name: "novelty store", ...inherited() });
		const hold = (isBusy) => (isBusy ? worker.ref() : worker.unref());
		return { port: worker, post: (...message) => worker.postMessage(...message), hold };
	}
	const stdio = ["ignore", "ignore", "inherit", "ipc"];
	const options = { serialization: "advanced", stdio, windowsHide: true };
	const child = fork(FILE, { ...inherited("--expose-gc"), ...options });
	const hold = (isBusy) => {
		for (const handle of [child, child.channel]) isBusy ? handle?.ref() : handle?.unref();
	};
	// A lost connection is reported as its end.
	return { port: child, post: (message) => child.send(message, () => {}), hold };
};
