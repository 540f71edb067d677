/** The lines of Rust that the tests reach, and the branches of the rules that they take. */
import { readFileSync } from "node:fs";
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

/** A source file of the addon or of a crate, and those of the rules. */
const SOURCE = /^(crates\/[\w-]+\/)?src\//;
const RULE = new RegExp(`^crates/scoring/src/(${RULES.join("|")})\\b`);
/** Modules that are only compiled for tests, and their support crate. */
const TESTS = /\/(tests|testing|\w+_tests)(\.rs$|\/)|^crates\/test-support\//;

/** The line at which the tests at the end of a file begin. */
function firstTestLine(path) {
	const lines = readFileSync(path, "utf8").split("\n");
	const at = lines.findIndex(
		(line, index) => lines[index - 1] === "#[cfg(test)]" && line.endsWith("{"),
	);
	return at < 0 ? Number.POSITIVE_INFINITY : at;
}

/** Returns how often each line, and each way out of each branch of the rules, was reached. */
function readLcov(path) {
	const [lines, branches] = [new Map(), new Map()];
	const add = (counts, place, count) => counts.set(place, (counts.get(place) ?? 0) + count);
	for (const record of readFileSync(path, "utf8").split("end_of_record\n")) {
		const [, source] = /^SF:(.*)$/m.exec(record) ?? [];
		const file = relative(root, source ?? "");
		if (!SOURCE.test(file) || TESTS.test(file)) continue;
		const end = firstTestLine(source);
		for (const [, line, count] of record.matchAll(/^DA:(\d+),(\d+)/gm))
			if (line < end) add(lines, `${file}:${line}`, Number(count));
		if (!RULE.test(file)) continue;
		for (const [, line, way, count] of record.matchAll(/^BRDA:(\d+),(\d+,\d+),(.*)$/gm))
			if (line < end) add(branches, `${file}:${line}:${way}`, Number(count) || 0);
	}
	return { lines, branches };
}

/** Throws unless at least `least` percent of the places of a kind were reached. */
function check(kind, places, least) {
	const missed = [...places].filter(([, count]) => count === 0);
	const percent = (100 * (places.size - missed.length)) / places.size;
	const result = `${percent.toFixed(2)} % of ${places.size} ${kind}`;
	if (!(percent >= least)) {
		const list = missed.map(([place]) => place).join("\n");
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
	const { lines, branches } = readLcov(lcov);
	check("lines", lines, LINES);
	check("branches", branches, 100);
}
