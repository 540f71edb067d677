/**
 * Compares the addon with the TypeScript implementation: node tools/bench.mjs [--quick] [--json FILE]
 * [--record]. Or draws charts: node tools/bench.mjs --charts [RECORD]. First makes what benchmark/
 * needs: the plain model, the quantised one, transformers.js 4, and JavaScript from its TypeScript.
 */
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { attempt, root, run, SHELL } from "./lib/run.mjs";
import { compileBenchmark, installed } from "./lib/typescript.mjs";
import { hasPackages } from "./prepare.mjs";

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

/** The benchmark can do without it; npm says why it cannot be installed. */
function installTransformers4() {
	const cwd = join(root, "benchmark/transformers-4");
	if (hasPackages(cwd)) return;
	console.error("bench: installing transformers.js 4 (470 MB)");
	attempt("npm", ["ci", "--loglevel=error"], { ...SHELL, stdio, cwd });
}

/** Runs a compiled script, and ends as it ends. */
function become(script, args) {
	const file = join(root, "benchmark/dist", script);
	const options = { cwd: process.cwd(), stdio: "inherit" };
	const { code } = attempt(process.execPath, [file, ...args], options);
	process.exit(typeof code === "number" ? code : 1);
}

const [first, ...others] = process.argv.slice(2);
for (const name of ["@huggingface/transformers", ...["@orama/orama", "echarts", "usearch"]])
	installed(name);
if (first === "--charts") {
	compileBenchmark(stdio);
	become("draw.js", others);
}
preparePlainModel();
prepareQuantisedModel();
installTransformers4();
compileBenchmark(stdio);
become("run.js", process.argv.slice(2));
