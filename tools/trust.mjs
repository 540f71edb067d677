/**
 * Looks for crashes, leaks, hangs and wrong scores: npm run trust [-- [--short | --long] [--only PART,PART]]
 *
 * Prints a line for each part at the end; the exit code is 1 if one has found something. `KP_TRUST=N`
 * repeats N times as often: 10 by default, 1 with `--short`. `--long` soaks a process for an hour instead of a
 * minute. docs/dev/robustness.md describes the parts.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { attempt, fail, filesBelow, root } from "./lib/run.mjs";
import { unlessPassed } from "./lib/unchanged.mjs";
import { coverage } from "./trust/coverage.mjs";
import { fuzz } from "./trust/fuzz.mjs";
import { cargoTests, RULES, SCORING, targetFolder, tool } from "./trust/rust.mjs";
import { address, miri, threads, valgrind } from "./trust/sanitizers.mjs";

const { short, long, only } = parseArgs({
	options: { short: { type: "boolean" }, long: { type: "boolean" }, only: { type: "string" } },
}).values;

const KP_TRUST = process.env.KP_TRUST ?? (short ? "1" : "10");

/** Runs Node.js in the top folder with its output on the screen; throws unless it succeeds. */
function node(args) {
	const env = { ...process.env, KP_TRUST, ...(long && { KP_SOAK: "60" }) };
	const { code } = attempt(process.execPath, args, { env, stdio: "inherit" });
	if (code !== 0) throw new Error(`node ${args.join(" ")}: ended with ${code}`);
}

/** The tests that `npm test` leaves out because they take long. Each uses all cores: one file at a time. */
function tests() {
	const files = ["__test__", "packages"].flatMap((folder) => filesBelow(folder, ".trust.mjs"));
	node(["--test", "--test-concurrency=1", "--test-reporter=spec", ...files]);
}

/** Calls, batches and the end of a scorer in random thread schedules. */
function schedules() {
	const command = ["test", "-p", SCORING, "--features", "shuttle", "--test", "schedules"];
	cargoTests(command, { KP_TRUST: short ? KP_TRUST : String(5 * KP_TRUST) });
}

/** The tests take a few seconds, so a mutant that takes this long loops endlessly. */
const MUTANT_TIMEOUT_S = "60";

/** Changes the rules, one operator at a time: a test has to fail. mutants.toml names the exceptions. */
function mutants() {
	const sources = RULES.map((name) => `crates/scoring/src/${name}`).flatMap((path) => [
		"--file",
		existsSync(join(root, `${path}.rs`)) ? `${path}.rs` : `${path}/**`,
	]);
	const output = targetFolder("mutants");
	mkdirSync(output, { recursive: true });
	const config = ["--config", "tools/trust/mutants.toml", "--output", output];
	const tests = ["--cargo-test-arg=--lib", "--cargo-test-arg=--tests"];
	const options = ["--package", SCORING, "--no-shuffle", "--timeout", MUTANT_TIMEOUT_S];
	// Exit code 3 means that a mutant was noticed by a timeout.
	const command = ["mutants", ...options, ...config, ...sources, ...tests];
	const env = { ...process.env, CARGO_PROFILE_TEST_DEBUG: "false" };
	const { code } = attempt(tool("cargo-mutants"), command, { env, stdio: "inherit" });
	if (code !== 0 && code !== 3) throw new Error(`cargo-mutants ended with ${code}`);
}

/** What the short mode tries is the same each time. */
const rustSide = (name, part) => () => (short ? unlessPassed(name, part) : part());

const IN_SHORT = {
	tests,
	schedules: rustSide("schedules", schedules),
	fuzz: rustSide("fuzz", () => fuzz({ short })),
};
const PARTS = {
	suite: () => node(["tools/test.mjs"]),
	...IN_SHORT,
	address,
	threads,
	valgrind,
	miri,
	coverage,
	mutants,
};

const chosen = only?.split(",") ?? Object.keys(short ? IN_SHORT : PARTS);
const unknown = chosen.find((part) => !(part in PARTS));
if (unknown) fail(`--only: expected some of ${Object.keys(PARTS).join(", ")}, got ${unknown}`);

const lines = [];
for (const part of chosen) {
	console.log(`\ntrust: ${part}`);
	const began = performance.now();
	let result = "nothing found";
	try {
		await PARTS[part]();
	} catch (error) {
		console.error(error.message);
		result = "A FINDING, see above";
		process.exitCode = 1;
	}
	lines.push(`${((performance.now() - began) / 1000).toFixed().padStart(6)} s  ${part}: ${result}`);
}
console.log(`\n${lines.join("\n")}`);
