/** The lines of Rust that the tests reach, and the branches of the rules that they take. */
import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { cargo } from "../lib/build.mjs";
import { root } from "../lib/run.mjs";
import { nightly, outputOf, RULES, targetFolder, testPublicApi, tool } from "./rust.mjs";

/** The least share of the lines of all modules together, in percent. */
const LINES = 95;

/**
 * Tests that take minutes with counters in every loop, because they embed hundreds of texts or start one
 * process after another, and those that run cargo.
 */
const LEAVE_OUT = /__test__.(leaks|lifecycle|order)\b|golden|recovery|tokens|window/;

/** A source file of the addon or of a crate, in a module of it. */
const SOURCE = /^(?:crates\/([\w-]+)\/)?src\/(\w+)/;
/** Modules that are only compiled for tests, and their support crate. */
const TESTS = /\/(tests|testing|\w+_tests)(\.rs$|\/)|^crates\/test-support\//;

/** The line at which the tests at the end of a file begin. */
function firstTestLine(path) {
	if (!existsSync(path)) throw new Error(`${path} is covered, but missing`);
	const lines = readFileSync(path, "utf8").split("\n");
	const at = lines.findIndex(
		(line, index) => lines[index - 1] === "#[cfg(test)]" && line.endsWith("{"),
	);
	return at < 0 ? Number.POSITIVE_INFINITY : at;
}

/** Returns how often each line, and each way out of each branch, was reached in each source file. */
function readLcov(path) {
	const files = new Map();
	let current;
	for (const record of readFileSync(path, "utf8").split("\n")) {
		const [, kind, rest] = /^(\w+):(.*)/.exec(record) ?? [];
		if (kind === "SF") current = recordOf(files, rest);
		if (!current) continue;
		const parts = rest?.split(",") ?? [];
		if (Number(parts[0]) >= current.end) continue;
		if (kind === "DA") add(current.lines, parts[0], Number(parts[1]));
		if (kind === "BRDA") add(current.branches, parts.slice(0, 3).join(":"), Number(parts[3]) || 0);
	}
	return [...files.values()];
}

function add(counts, place, count) {
	counts.set(place, (counts.get(place) ?? 0) + count);
}

/** The record of a source file; undefined for a file of tests or outside the crates. */
function recordOf(files, path) {
	const file = relative(root, path);
	const [matches, crate = "addon", module] = SOURCE.exec(file) ?? [];
	if (!matches || TESTS.test(file)) return undefined;
	if (!files.has(file)) {
		const end = firstTestLine(path);
		files.set(file, { file, crate, module, end, lines: new Map(), branches: new Map() });
	}
	return files.get(file);
}

/** Throws unless at least `least` percent of the places of a kind were reached. */
function check(files, kind, least) {
	const places = files.flatMap((record) =>
		[...record[kind]].map(([place, count]) => ({ place: `${record.file}:${place}`, count })),
	);
	const missed = places.filter(({ count }) => count === 0);
	const percent = (100 * (places.length - missed.length)) / places.length;
	const result = `${percent.toFixed(2)} % of ${places.length} ${kind}`;
	if (!(percent >= least)) {
		const list = missed.map(({ place }) => place).join("\n");
		throw new Error(`tests reach ${result}, expected ${least} %. Not reached:\n${list}`);
	}
	console.log(`tests reach ${result}`);
}

export async function coverage() {
	const env = nightly("coverage");
	// Counting makes the model slow, and the tests of the public API run it hundreds of times.
	env.CARGO_PROFILE_TEST_OPT_LEVEL = "3";
	const llvmCov = (...args) => outputOf(tool("cargo-llvm-cov"), ["llvm-cov", ...args], env);
	for (const [, name, value] of llvmCov("show-env", "--branch").matchAll(/^(\w+)=(.*)$/gm))
		env[name] = value.replace(/^'(.*)'$/, "$1");
	llvmCov("clean", "--workspace");
	outputOf("cargo", ["test", "--workspace", "--lib", "--tests"], env);
	const build = ["build", "--lib", "--profile", "test"];
	const library = await cargo("addon for coverage", build, { ...process.env, ...env });
	testPublicApi(library, { leaveOut: LEAVE_OUT, env });
	const lcov = join(targetFolder("coverage"), "lcov.info");
	llvmCov("report", "--branch", "--lcov", "--output-path", lcov);
	const files = readLcov(lcov);
	const rules = files.filter(({ crate, module }) => crate === "scoring" && RULES.includes(module));
	check(files, "lines", LINES);
	check(rules, "branches", 100);
}
