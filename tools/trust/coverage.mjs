/** What the tests reach of the Rust sources. */
import { join } from "node:path";
import { cargo } from "../lib/build.mjs";
import { root } from "../lib/run.mjs";
import { readLcov } from "./coverage/lcov.mjs";
import { main } from "./lib/main.mjs";
import { testPublicApi } from "./lib/public-api.mjs";
import { nightly, outputOf, RULES, SCORING, targetFolder, tool } from "./lib/rust.mjs";

export const title = "Coverage";

/** Of the lines of all modules together, in percent. */
const LINES = 95;

/**
 * Tests of the public API that take minutes with counters in every loop, because they embed hundreds of
 * texts or start one process after another, and those that run cargo.
 */
const LEAVE_OUT = /^(leaks|lifecycle|order)\b|golden|recovery|tokens|window/;

/** The environment in which cargo builds with counters, and a function that reads these. */
function instrumented() {
	const env = { ...process.env, ...nightly("coverage") };
	// Counting makes the model slow; the tests of the public API run it hundreds of times.
	env.CARGO_PROFILE_TEST_OPT_LEVEL = "3";
	const llvmCov = (...args) => outputOf(tool("cargo-llvm-cov"), ["llvm-cov", ...args], { env });
	for (const line of llvmCov("show-env", "--branch").split("\n")) {
		const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
		if (name) env[name] = value.replace(/^'(.*)'$/, "$1");
	}
	llvmCov("clean", "--workspace");
	const read = () => {
		const lcov = join(targetFolder("coverage"), "lcov.info");
		llvmCov("report", "--branch", "--lcov", "--output-path", lcov);
		return readLcov(lcov, root);
	};
	return { env, read };
}

/** What the tests in Rust reach, and those of the public API; in short, the former of the rules. */
async function measure({ short, log }) {
	const { env, read } = instrumented();
	const packages = short ? ["-p", SCORING] : ["--workspace"];
	log("coverage: the tests in Rust");
	outputOf("cargo", ["test", ...packages, "--lib", "--tests"], { env });
	if (short) return read();
	log("coverage: the public API");
	const name = "coverage/checkout";
	const library = await cargo("addon for coverage", ["build", "--lib", "--profile", "test"], env);
	testPublicApi({ name, library, leaveOut: LEAVE_OUT, env, log });
	return read();
}

/** How many places there are, how many were reached, and which were not. */
function tally(files, kind) {
	const missed = [];
	let total = 0;
	for (const record of files)
		for (const [place, count] of record[kind]) {
			total++;
			if (count === 0) missed.push(`${record.file}:${place}`);
		}
	return { total, missed, reached: total - missed.length };
}

/** `["a.rs:1", "a.rs:2", "a.rs:5"]` as `["a.rs:1-2", "a.rs:5"]`. */
function inRanges(places) {
	const ranges = [];
	for (const place of places) {
		const [file, line] = [place.replace(/:\d+$/, ""), Number(/\d+$/.exec(place))];
		const last = ranges.at(-1);
		if (last?.file === file && last.to === line - 1) last.to = line;
		else ranges.push({ file, from: line, to: line });
	}
	return ranges.map(({ file, from, to }) =>
		from === to ? `${file}:${from}` : `${file}:${from}-${to}`,
	);
}

const percent = ({ reached, total }) =>
	total === 0 ? "-" : `${((100 * reached) / total).toFixed(2)} %`;

function table(files) {
	const nameOf = ({ crate, module }) => `${crate}: ${module}`;
	return [...new Set(files.map(nameOf))].sort().map((name) => {
		const records = files.filter((record) => nameOf(record) === name);
		const lines = tally(records, "lines");
		const branches = tally(records, "branches");
		return `${name.padEnd(24)} ${String(lines.total).padStart(5)} lines ${percent(lines).padStart(8)} ${String(branches.total).padStart(5)} branches ${percent(branches).padStart(8)}`;
	});
}

function checkLines(files) {
	const lines = tally(files, "lines");
	if (100 * lines.reached < LINES * lines.total)
		throw new Error(
			`tests reach ${percent(lines)} of the lines, which is less than ${LINES} %. Not reached:\n${inRanges(lines.missed).join("\n")}`,
		);
	return {
		what: "lines of Rust that tests reach, the tests themselves left out",
		tried: `${lines.total} lines`,
		found: percent(lines),
	};
}

function checkBranches(files) {
	const rules = files.filter(({ crate, module }) => crate === "scoring" && RULES.includes(module));
	const branches = tally(rules, "branches");
	if (branches.total === 0 || branches.missed.length > 0)
		throw new Error(
			`of ${branches.total} ways out of a branch in ${RULES.join(", ")}, tests do not take (file:line:block:way)\n${branches.missed.join("\n")}`,
		);
	return {
		what: `branches of ${RULES.join(", ")}`,
		tried: `${branches.total} ways out of a branch`,
		found: "all taken",
	};
}

export async function run({ short, log }) {
	const files = await measure({ short, log });
	for (const line of table(files)) log(`coverage: ${line}`);
	const branches = checkBranches(files);
	return short ? [branches] : [checkLines(files), branches];
}

await main(import.meta.url, { title, run });
