// Compares the addon with the TypeScript way: node scripts/bench.mjs [--quick] [--json FILE].
// Makes what benchmark/ needs first: the plain model, and JavaScript from its TypeScript.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const MODEL_FOLDER = path.join(ROOT, "benchmark/.model");
const PYTHON = process.platform === "win32" ? "python" : "python3";

function fail(message) {
	console.error(`bench: ${message}`);
	process.exit(1);
}

/** Runs a command whose output goes to stderr, so that stdout has the results alone. */
function run(command, args, failure) {
	const stdio = ["ignore", process.stderr, "inherit"];
	const { error, status } = spawnSync(command, args, { cwd: ROOT, stdio });
	if (error) fail(`${failure}: ${error.message}`);
	if (status !== 0) fail(failure);
}

/** The folder of an installed package. */
function installed(name) {
	const folder = path.join(ROOT, "node_modules", name);
	if (!existsSync(folder)) fail(`${name} is not installed; run: npm install`);
	return folder;
}

installed("@huggingface/transformers");
const typescript = installed("typescript");
const { bin } = JSON.parse(
	readFileSync(path.join(typescript, "package.json"), "utf8"),
);
run(
	PYTHON,
	["scripts/assets.py", "--plain", MODEL_FOLDER],
	"cannot make the plain model in benchmark/.model",
);
run(
	process.execPath,
	[path.join(typescript, bin.tsc), "--project", "benchmark"],
	"cannot compile benchmark/",
);
const benchmark = path.join(ROOT, "benchmark/dist/run.js");
const { error, status } = spawnSync(
	process.execPath,
	[benchmark, ...process.argv.slice(2)],
	{ stdio: "inherit" },
);
if (error) fail(error.message);
process.exit(status ?? 1);
