/** cargo-fuzz at a pinned version, and what it runs. */
import { spawn } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { root } from "../../scripts/lib/run.mjs";

const VERSION = "0.13.2";

/** Every target, and what it compares. */
export const TARGETS = {
	trace_value: "JavaScript-like values read as traces and scored",
	trace_json: "JSON texts read as traces and scored",
	snapshot: "snapshots, damaged ones and arbitrary bytes",
	tokenizer_window: "the tokens of windows and of whole texts",
	cache: "the cache in lockstep with a list",
	order: "calls side by side and one after another",
};

/** The folder of the fuzz targets. */
export const folder = join(root, "fuzz");

/** The corpus that a target begins with. */
export const kept = (target) => join(folder, "corpus", target);

/** What a target has found beyond that, on this machine. */
export const grown = (target) => join(folder, "target", "corpus", target);

/** The user's folder for what clones can share, as scripts/assets has it. */
function cacheFolder() {
	const { KNOWLEDGEPULSE_CACHE, XDG_CACHE_HOME } = process.env;
	const name = "knowledgepulse-scoring";
	if (KNOWLEDGEPULSE_CACHE) return resolve(KNOWLEDGEPULSE_CACHE);
	if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, name);
	return process.platform === "darwin"
		? join(homedir(), "Library", "Caches", name)
		: join(homedir(), ".cache", name);
}

/** Runs a program; gives its exit code, and what it printed unless that goes elsewhere. */
export function execute(command, args, stdio = "pipe") {
	return new Promise((done, reject) => {
		const child = spawn(command, args, {
			cwd: folder,
			stdio: ["ignore", stdio, stdio],
			// Instrumentation and sanitizers count as unstable, but are all in the stable compiler.
			env: { ...process.env, RUSTC_BOOTSTRAP: "1" },
		});
		const pieces = [];
		for (const stream of [child.stdout, child.stderr])
			stream?.on("data", (piece) => pieces.push(piece));
		child.once("error", reject);
		child.once("close", (code, signal) =>
			done({
				code: code ?? signal,
				output: Buffer.concat(pieces).toString(),
			}),
		);
	});
}

async function mustSucceed(command, args) {
	const { code } = await execute(command, args, "inherit");
	if (code !== 0)
		throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
}

/** The program, which the first one who asks builds. */
async function install(log) {
	const home = join(cacheFolder(), `cargo-fuzz-${VERSION}-${process.arch}`);
	const program = join(home, "bin", "cargo-fuzz");
	if (existsSync(program)) return program;
	log(`installing cargo-fuzz ${VERSION} into ${home}`);
	mkdirSync(dirname(home), { recursive: true });
	const unfinished = mkdtempSync(`${home}.`);
	try {
		await mustSucceed("cargo", [
			...["install", "cargo-fuzz", "--locked", "--version", VERSION],
			...["--no-track", "--root", unfinished],
		]);
		// Somebody else may have been quicker.
		if (!existsSync(program)) renameSync(unfinished, home);
	} finally {
		rmSync(unfinished, { recursive: true, force: true });
	}
	return program;
}

/** Builds all targets; gives the program that runs them. */
export async function build(log) {
	const program = await install(log);
	log("building the targets");
	await mustSucceed(program, ["build"]);
	return program;
}
