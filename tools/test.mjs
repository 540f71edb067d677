/**
 * The suite: the model builder, the Rust crates, the public API.
 *
 *     npm test              all of it
 *     npm test -- SUBJECT   a folder of __test__, a package, a crate, or the model builder ("model")
 *
 * `KP_TRUST=N` generates and repeats N times as much.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { artifacts, assets } from "./lib/build.mjs";
import { fail, root } from "./lib/run.mjs";
import { logged, say, step } from "./lib/steps.mjs";
import { unlessPassed } from "./lib/unchanged.mjs";
import {
	checkTools,
	installPackages,
	prepareAddon,
	prepareModel,
	prepareTestModels,
} from "./prepare.mjs";
import { runTests, summarise } from "./test/javascript.mjs";

const subject = process.argv[2];
const isChosen = (name) => !subject || name === subject;

/** The chosen folders in a folder. */
const list = (folder) =>
	readdirSync(join(root, folder), { withFileTypes: true })
		.filter((entry) => entry.isDirectory() && isChosen(entry.name))
		.map(({ name }) => name);

/** The folders of tests of the public API: those of the main package, and those of the others. */
const folders = [
	...list("__test__").map((name) => join("__test__", name)),
	...list("packages").map((name) => join("packages", name, "__test__")),
].filter((folder) => existsSync(join(root, folder)));

const tests = folders.flatMap((folder) =>
	readdirSync(join(root, folder), { recursive: true })
		.filter((file) => file.endsWith(".test.mjs"))
		.map((file) => join(folder, file))
		.sort(),
);

/** Options of cargo for the crates; undefined for none. */
const crates = subject
	? list("crates").map((name) => `--package=knowledgepulse-${name}`)
	: ["--workspace"];

const isModel = isChosen("model");

if (tests.length + crates.length === 0 && !isModel)
	fail(`no tests of ${subject}: expected model, or a folder of __test__, crates or packages`);

const sum = (output, pattern) =>
	[...output.matchAll(pattern)].reduce((sum, [, n]) => sum + Number(n), 0);

const counts = { passed: 0, failed: 0, skipped: 0 };

/** Runs a program of tests as a step. */
const program = (name, run, pattern) =>
	step(name, async (tell) => {
		const passed = sum(await run(name), pattern);
		if (passed === 0) fail(`${name}: no test ran`);
		counts.passed += passed;
		tell(`${passed} passed`);
	});

const TSC = "node_modules/typescript/bin/tsc";

const UNITTEST = /^Ran (\d+) tests? in/gm;

async function rustTests() {
	if (crates.length === 0) return;
	const build = (name) => artifacts(name, ["test", "--no-run", ...crates]);
	const built = await step("building of the Rust tests", () => build("building of the Rust tests"));
	// They have ONNX Runtime.
	await packages;
	const run = (name) => logged(name, ["cargo", "test", ...crates]);
	const tests = program("Rust tests", run, /^test result: ok\. (\d+) passed/gm);
	const example = built.find(
		({ target: { kind, name } }) => kind.includes("example") && name === "calibrate",
	);
	const compare = (name) => assets(name, "--reference", example.executable);
	const comparison = example && program("calibration by scikit-learn", compare, UNITTEST);
	await Promise.all([tests, comparison]);
}

async function modelTests() {
	if (isModel) await program("model tests", (name) => assets(name, "--test"), UNITTEST);
}

/** The types of the public API. */
async function compileTypes() {
	await packages;
	await step("types", () => logged("types", [process.execPath, TSC, "-p", "__test__"]));
}

/** Without a browser, the tests that need one are skipped. */
const findBrowser = () =>
	step("browser", async (tell) => {
		const command = [process.execPath, "tools/lib/browser.mjs"];
		const path = (await logged("browser", command)).trim().split("\n").at(-1);
		process.env.KNOWLEDGEPULSE_BROWSER = path;
		if (!path) tell("none");
	});

async function javaScriptTests(others) {
	const results = await step("JavaScript tests", (tell) => runTests(tests, others, tell));
	for (const name of ["passed", "failed", "skipped"]) counts[name] += results[name];
	summarise(results);
}

checkTools();
if (!subject)
	say("Builds what is missing, then runs all tests: about 8 minutes the first time, with 2 cores.");
const packages = installPackages();
const ready = Promise.all([prepareModel(), prepareAddon()]);
// Rust compiles while packages are installed and the other tests run.
const models = ready.then(prepareTestModels);
const rustSide = () => Promise.all([rustTests(), modelTests()]);
const others = models.then(() =>
	subject ? rustSide() : unlessPassed("Rust, calibration and model tests", rustSide),
);
if (tests.length > 0) {
	await Promise.all([models, compileTypes(), findBrowser()]);
	await javaScriptTests(others);
}
await others;
const { passed, failed, skipped } = counts;
say(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed ? 1 : 0;
