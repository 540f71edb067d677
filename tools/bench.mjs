/**
 * Compares the addon with the TypeScript implementation: node tools/bench.mjs [--quick] [--json FILE]
 * [--record]. Or draws charts: node tools/bench.mjs --charts [RECORD]. First makes what benchmark/
 * needs: the plain model, the quantised one, and JavaScript from its TypeScript.
 */
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { attempt, root, run } from "./lib/run.mjs";
import { compileBenchmark, installed } from "./lib/typescript.mjs";

// Progress goes to stderr; stdout is for the results.
const stdio = ["inherit", process.stderr, "inherit"];

function preparePlainModel() {
	const source = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	run(
		python(),
		[
			...["tools/assets.py", "--plain", "benchmark/.model"],
			...(source ? ["--model-source", source] : []),
		],
		{ stdio },
	);
}

/** The benchmark can do without it; the script says why it cannot be made. */
function prepareQuantisedModel() {
	attempt(python(), ["benchmark/q8/prepare.py"], { stdio });
}

/** Runs a compiled script, and ends as it ends. */
function become(script, args) {
	const file = join(root, "benchmark/dist", script);
	const options = { cwd: process.cwd(), stdio: "inherit" };
	const { code } = attempt(process.execPath, [file, ...args], options);
	process.exit(typeof code === "number" ? code : 1);
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
