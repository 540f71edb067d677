/** What the tests reach of the Rust core. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../scripts/lib/run.mjs";
import { readLcov } from "./coverage/lcov.mjs";
import { checkoutWith } from "./lib/checkout.mjs";
import { LEAVES, writeLeaves } from "./lib/leaves.mjs";
import { main } from "./lib/main.mjs";
import { attempt, execute, nightly, targetFolder, tool } from "./lib/rust.mjs";

export const title = "Coverage";

/** Of the lines of every module together, in percent. */
const LINES = 95;

/** Where cargo builds what counts, and programs write down what they reached. */
function instrumented(folder, crate) {
	const env = { ...process.env, ...nightly(folder) };
	// Counting makes the model slow; the tests of the public API run it hundreds of times.
	env.CARGO_PROFILE_TEST_OPT_LEVEL = "3";
	const llvmCov = (...args) =>
		execute(tool("cargo-llvm-cov"), ["llvm-cov", ...args], {
			env,
			cwd: crate,
			stdio: ["ignore", "pipe", "pipe"],
		});
	for (const line of llvmCov("show-env", "--branch").split("\n")) {
		const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
		if (name) env[name] = value.replace(/^'(.*)'$/, "$1");
	}
	llvmCov("clean", "--workspace");
	const read = () => {
		const lcov = join(targetFolder(folder), "lcov.info");
		llvmCov("report", "--branch", "--lcov", "--output-path", lcov);
		return readLcov(lcov, crate);
	};
	return { env, read };
}

/** Builds all tests; gives the addon that comes with them. */
function build(env) {
	const messages = execute(
		"cargo",
		["test", "--no-run", "--message-format=json-render-diagnostics"],
		{ env },
	);
	const library = messages
		.split("\n")
		.filter((line) => line.startsWith('{"reason":"compiler-artifact"'))
		.flatMap((line) => JSON.parse(line).filenames)
		.find((name) => /knowledgepulse_scoring\.(so|dylib|dll)$/.test(name));
	if (!library) throw new Error("cargo test --no-run built no addon");
	return library;
}

/**
 * The chapters of the public API that need not be counted: they embed hundreds of texts or start one
 * process after another, which takes minutes while every pass of a loop is counted, or run cargo.
 */
const LEFT_OUT = /^(02|06|08|09|10|14|18|19)\./;

/** The other chapters, in a copy of the checkout. */
function chapters(folder) {
	return readdirSync(join(folder, "__test__"))
		.filter((name) => name.endsWith(".test.mjs") && !LEFT_OUT.test(name))
		.map((name) => `__test__/${name}`);
}

/** What the tests of the Rust core and those of the public API reach. */
function measure(log) {
	const { env, read } = instrumented("coverage", root);
	log("coverage: building");
	const library = build(env);
	log("coverage: the tests in Rust");
	execute("cargo", ["test", "--lib", "--tests"], { env });
	log("coverage: the public API");
	const folder = checkoutWith(library, "coverage/checkout");
	const run = ["--test", "--test-concurrency=1", ...chapters(folder)];
	// Counting takes memory and writes files, which some chapters forbid. Whether they pass is known
	// from `npm test`; here it matters what they reach.
	const { output } = attempt(process.execPath, run, { env, cwd: folder });
	for (const [, name] of output.matchAll(/^not ok \d+ - (.*)$/gm))
		log(`coverage: fails while it is counted: ${name}`);
	return read();
}

/** What the tests of the leaves reach of them. */
function measureLeaves() {
	// Beside what cargo builds: cargo-llvm-cov takes sources in there for generated ones.
	const crate = writeLeaves("coverage-crate");
	const { env, read } = instrumented("coverage-leaves", crate);
	execute("cargo", ["test", "--lib", "--tests"], { env, cwd: crate });
	return read();
}

/** How many places there are, how many were reached, and which were not. */
function tally(files, kind) {
	const missed = [];
	let total = 0;
	for (const record of files)
		for (const [place, count] of record[kind]) {
			total++;
			if (count === 0) missed.push(`src/${record.file}:${place}`);
		}
	return { total, missed, reached: total - missed.length };
}

/** `["a.rs:1", "a.rs:2", "a.rs:5"]` as `["a.rs:1-2", "a.rs:5"]`. */
function inRanges(places) {
	const ranges = [];
	for (const place of places) {
		const [file, line] = [
			place.replace(/:\d+$/, ""),
			Number(/\d+$/.exec(place)),
		];
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

/** The module of a file: the part of its path that ARCHITECTURE.md speaks of. */
const moduleOf = ({ file }) => file.split("/")[0].replace(".rs", "");

function table(files) {
	return [...new Set(files.map(moduleOf))].sort().map((name) => {
		const records = files.filter((record) => moduleOf(record) === name);
		const lines = tally(records, "lines");
		const branches = tally(records, "branches");
		return `${name.padEnd(12)} ${String(lines.total).padStart(5)} lines ${percent(lines).padStart(8)} ${String(branches.total).padStart(5)} branches ${percent(branches).padStart(8)}`;
	});
}

function checkLines(files) {
	const lines = tally(files, "lines");
	if (100 * lines.reached < LINES * lines.total)
		throw new Error(
			`tests reach ${percent(lines)} of the lines, which is less than ${LINES} %. Not reached:\n${inRanges(lines.missed).join("\n")}`,
		);
	return {
		what: "lines of the Rust core that tests reach, the tests themselves left out",
		tried: `${lines.total} lines`,
		found: percent(lines),
	};
}

function checkBranches(files) {
	const leaves = files.filter((record) => LEAVES.includes(moduleOf(record)));
	const branches = tally(leaves, "branches");
	if (branches.total === 0 || branches.missed.length > 0)
		throw new Error(
			`of ${branches.total} ways out of a branch in ${LEAVES.join(", ")}, tests do not take (file:line:block:way)\n${branches.missed.join("\n")}`,
		);
	return {
		what: `branches of ${LEAVES.join(", ")}`,
		tried: `${branches.total} ways out of a branch`,
		found: "all taken",
	};
}

export async function run({ short, log }) {
	const files = short ? measureLeaves() : measure(log);
	for (const line of table(files)) log(`coverage: ${line}`);
	const branches = checkBranches(files);
	return short ? [branches] : [checkLines(files), branches];
}

await main(import.meta.url, { title, run });
