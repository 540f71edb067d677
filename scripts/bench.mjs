/**
 * Compares the addon with the TypeScript way: node scripts/bench.mjs [--quick] [--json FILE]
 * [--record]. Or draws charts: node scripts/bench.mjs --charts [RECORD]. First makes what benchmark/
 * needs: the plain model, the quantised one, and JavaScript from its TypeScript.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { fail, root, run } from "./lib/run.mjs";
import { compileBenchmark, installed } from "./lib/typescript.mjs";

// What is said on the way goes to stderr; stdout is for the results.
const stdio = ["inherit", process.stderr, "inherit"];

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
	compileBenchmark(stdio);
	become("draw.js", others);
}
preparePlainModel();
prepareQuantisedModel();
compileBenchmark(stdio);
become("run.js", process.argv.slice(2));
