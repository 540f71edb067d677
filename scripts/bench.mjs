/**
 * Compares the addon with the TypeScript way: node scripts/bench.mjs [--quick] [--json FILE]
 * [--record]. Or draws charts: node scripts/bench.mjs --charts [RECORD]. First makes what benchmark/
 * needs: the plain model, the quantised one, and JavaScript from its TypeScript.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { fail, root, run } from "./lib/run.mjs";

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

/** Where it cannot be made the benchmark does without; the script has said why. */
function prepareQuantisedModel() {
	spawnSync(python(), ["benchmark/q8/prepare.py"], { cwd: root, stdio });
}

function compile() {
	const folder = installed("typescript");
	const { bin } = JSON.parse(readFileSync(join(folder, "package.json")));
	run(process.execPath, [join(folder, bin.tsc), "-p", "benchmark"], { stdio });
}

/** Runs a compiled script in the place of this one. */
function become(script, args) {
	const file = join(root, "benchmark/dist", script);
	const { error, status } = spawnSync(process.execPath, [file, ...args], {
		stdio: "inherit",
	});
	if (error) fail(error.message);
	process.exit(status ?? 1);
}

const [first, ...others] = process.argv.slice(2);
for (const name of [
	"@huggingface/transformers",
	...["@orama/orama", "echarts", "usearch"],
])
	installed(name);
if (first === "--charts") {
	compile();
	become("draw.js", others);
}
preparePlainModel();
prepareQuantisedModel();
compile();
become("run.js", process.argv.slice(2));
