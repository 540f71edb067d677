/**
 * Compares the addon with TypeScript, after making the plain model, the quantised one and
 * transformers.js 4. Takes the options of benchmark/run.mjs.
 */
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { attempt, root, run, SHELL } from "./lib/run.mjs";
import { hasPackages } from "./prepare.mjs";

// Progress goes to stderr; stdout is for the results.
const stdio = ["inherit", process.stderr, "inherit"];

function preparePlainModel() {
	const source = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	const options = source ? ["--model-source", source] : [];
	run(python(), ["tools/assets.py", "--plain", "benchmark/.model", ...options], { stdio });
}

/** Optional: the script says why the model cannot be made. */
function prepareQuantisedModel() {
	attempt(python(), ["benchmark/q8/prepare.py"], { stdio });
}

/** Optional: npm says why it cannot be installed. */
function installTransformers4() {
	const cwd = join(root, "benchmark/transformers-4");
	if (hasPackages(cwd)) return;
	console.error("bench: installing transformers.js 4 (470 MB)");
	attempt("npm", ["ci", "--loglevel=error"], { ...SHELL, stdio, cwd });
}

const args = process.argv.slice(2);
if (!args.includes("--charts")) {
	preparePlainModel();
	prepareQuantisedModel();
	installTransformers4();
}
const script = join(root, "benchmark/run.mjs");
const { code } = attempt(process.execPath, [script, ...args], { stdio: "inherit" });
process.exit(typeof code === "number" ? code : 1);
