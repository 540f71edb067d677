/**
 * Compares the addon with the TypeScript way: node scripts/bench.mjs [--quick] [--json FILE].
 * First makes what benchmark/ needs: the plain model, and JavaScript from its TypeScript.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root, run } from "./lib/run.mjs";
import { python } from "./prepare.mjs";

// What is said on the way goes to stderr; stdout is for the results.
const stdio = ["inherit", process.stderr, "inherit"];

/** The folder of an installed package. */
function installed(name) {
	const folder = join(root, "node_modules", name);
	if (!existsSync(folder)) fail(`${name} is missing: run npm ci`);
	return folder;
}

function preparePlainModel() {
	const source = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	run(
		python(),
		[
			...["scripts/assets.py", "--plain", "benchmark/.model"],
			...(source ? ["--model-source", source] : []),
		],
		{ stdio },
	);
}

function compile() {
	const folder = installed("typescript");
	const { bin } = JSON.parse(readFileSync(join(folder, "package.json")));
	run(process.execPath, [join(folder, bin.tsc), "-p", "benchmark"], { stdio });
}

installed("@huggingface/transformers");
preparePlainModel();
compile();
const args = [join(root, "benchmark/dist/run.js"), ...process.argv.slice(2)];
const { error, status } = spawnSync(process.execPath, args, {
	stdio: "inherit",
});
if (error) fail(error.message);
process.exit(status ?? 1);
