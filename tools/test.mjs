/**
 * The suite: the model builder, the Rust crates, the public API.
 *
 *     npm test              all of it
 *     npm test -- SUBJECT   a folder of __test__, a package, a crate, or the model builder ("model")
 *
 * `KP_TRUST=N` generates and repeats N times as much.
 */
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { inspect } from "node:util";
import { repeats } from "../__test__/support/draws.mjs";
import { artifacts, assets } from "./lib/build.mjs";
import { tail } from "./lib/process.mjs";
import { fail, root } from "./lib/run.mjs";
import { logged, step } from "./lib/steps.mjs";
import { unlessPassed } from "./lib/unchanged.mjs";
import {
	checkTools,
	installPackages,
	prepareAddon,
	prepareModel,
	prepareTestModels,
} from "./prepare.mjs";

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

const findBrowser = () =>
	step("browser", async () => {
		const command = [process.execPath, "tools/lib/browser.mjs"];
		process.env.KNOWLEDGEPULSE_BROWSER ||= (await logged("browser", command)).trim();
	});

/** Files with this ending measure time or memory, or run cargo: nothing runs beside them. */
const isAlone = (file) => file.endsWith(".alone.test.mjs");

/** A file that takes longer hangs. */
const FILE_MS = repeats(300_000);

/** The description of a failure, without the frames of the test runner. */
const reasonOf = ({ cause, message }) =>
	inspect(cause ?? message, { breakLength: 100 }).replaceAll(/^\s+at .*node:internal.*\n?/gm, "");

/** Runs test files, each in a separate process, so many at a time. Notes each test in `results`. */
async function runFiles(files, concurrency, results, tell) {
	if (files.length === 0) return;
	const printed = {};
	const given = files.map((file) => join(root, file));
	for await (const { type, data } of run({ files: given, concurrency, timeout: FILE_MS })) {
		const { file = "", name, line, skip, details, message } = data;
		const place = `${relative(root, file)}:${line}: ${name}`;
		if (type === "test:stdout" || type === "test:stderr")
			printed[file] = (printed[file] ?? "") + message;
		// A test also fails if a subtest does, and a file if one of its tests does.
		if (type === "test:fail" && details.error.failureType !== "subtestsFailed") {
			console.log(`FAILED  ${place}\n${reasonOf(details.error)}${tail(printed[file] ?? "")}`);
			results.push({ place, ms: details.duration_ms, is: "failed" });
		}
		if (type === "test:pass" && details.type !== "suite")
			results.push({ place, ms: details.duration_ms, is: skip ? "skipped" : "passed", skip });
		tell(`${results.length} tests`);
	}
}

async function javaScriptTests(others) {
	const results = [];
	await step("JavaScript tests", async (tell) => {
		const together = tests.filter((file) => !isAlone(file));
		// Some tests mostly wait.
		await runFiles(together, Math.ceil(1.5 * availableParallelism()), results, tell);
		await others;
		await runFiles(tests.filter(isAlone), 1, results, tell);
	});
	for (const { is } of results) counts[is] += 1;
	console.log("\nThe slowest tests:");
	for (const { ms, place } of results.toSorted((a, b) => b.ms - a.ms).slice(0, 10))
		console.log(`${(ms / 1000).toFixed(1).padStart(6)} s  ${place}`);
	for (const { is, place, skip } of results)
		if (is !== "passed")
			console.log(
				`${is === "failed" ? "FAILED " : "skipped"}  ${place}${skip ? ` (${skip})` : ""}`,
			);
}

checkTools();
if (!subject)
	console.log(
		"Builds what is missing, then runs all tests: about 8 minutes the first time, with 2 cores.",
	);
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
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed ? 1 : 0;
