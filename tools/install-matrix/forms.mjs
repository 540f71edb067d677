/**
 * The ways in which a program may use the package. A form is a `file` that is run, after a `build` if it has one, by each
 * of `on` (every runtime by default), and prints `lines` results, or the report of a test runner with `tests` tests.
 *
 * `fails` is what the program says where it cannot work. `read` makes results of the rows of a program that prints
 * others. `library` is the version of ONNX Runtime that the result has.
 */
import { EXPECTED } from "./fixtures.mjs";
import { tool, toolNode } from "./tools.mjs";

/** The result in the rows of `kp-score score`. */
function readRows(rows) {
	const state = rows.every(({ modelFingerprint }) => modelFingerprint) ? "ready" : "off";
	return [{ state, scores: rows.map(({ score }) => score) }];
}

export const SERVER_RUNTIMES = ["Node 20", "Node 22", "Node 24", "Node 26", "Bun"];

/** The program of the command line. */
export const cliForm = {
	name: "kp-score",
	file: "kp-score.cjs",
	read: readRows,
	on: SERVER_RUNTIMES,
};

const typescript = (kind, extension) => ({
	name: `TypeScript ${kind}, ${extension}`,
	build: [
		...[toolNode, tool("typescript/bin/tsc"), "--typeRoots", tool("@types")],
		...["-p", `tsconfig.${kind}.json`],
	],
	file: `out/${kind}/score.${extension}`,
});

/** With all entry points, and a signal. */
export const systemForms = [
	{ name: "ES module", file: "score.mjs" },
	{ name: "CommonJS", file: "score.cjs" },
];

export const moduleForms = [
	typescript("node16", "js"),
	typescript("node16", "cjs"),
	typescript("nodenext", "js"),
	typescript("nodenext", "cjs"),
	typescript("bundler", "js"),
	{
		name: "TypeScript, run as it is",
		file: "score.ts",
		on: ["Node 22", "Node 24", "Node 26", "Bun", "Deno"],
	},
	{ name: "four workers", file: "workers.mjs", args: ["4"], lines: 4 },
	{
		name: "a custom model without ONNX Runtime",
		file: "custom.mjs",
		fails: /"code":"LIBRARY_UNAVAILABLE".* is not installed; .* npm install onnxruntime-node;/,
	},
];

/** Programs that use the SDK, which uses this package in place of transformers.js. */
export const sdkForms = ["mjs", "cjs"].map((extension) => ({
	name: extension,
	file: `sdk.${extension}`,
	on: ["Node 20", "Bun", "Deno"],
}));

/** The number of tests in fixtures/cases.cjs. */
const TESTS = 2;

const vitest = (pool) => ({
	name: `Vitest, ${pool}`,
	file: tool("vitest/vitest.mjs"),
	args: ["run", "--reporter=json", `--pool=${pool}`],
	tests: TESTS,
	// Vite does not run on Node 20.0.
	on: ["Node 22", "Node 24", "Node 26"],
});

/** Test runners, which run tests in a separate realm and load modules repeatedly. */
export const testForms = [
	{
		name: "Jest",
		file: tool("jest/bin/jest.js"),
		args: ["--config=jest.config.json", "--json"],
		tests: TESTS,
		on: ["Node 20", "Node 22", "Node 24", "Node 26"],
	},
	...["forks", "vmThreads"].map(vitest),
];

/** Returns what is wrong with the report of a test runner on `tests` tests, or null. */
function judgeTests(stdout, tests) {
	try {
		const { success, numPassedTests } = JSON.parse(stdout);
		if (success && numPassedTests === tests) return null;
		return `${numPassedTests} tests passed, not ${tests}`;
	} catch {
		return "no report";
	}
}

/** Returns what is wrong with the output of a form's program, or null. */
export function judge(stdout, form = {}) {
	const {
		lines = 1,
		scores,
		tolerance,
		read,
		library,
		again: from = "cache",
		fails,
		tests,
	} = {
		...EXPECTED,
		...form,
	};
	if (tests) return judgeTests(stdout, tests);
	if (fails) return fails.test(stdout) ? null : `does not fail with ${fails}`;
	let results;
	try {
		const rows = stdout.trim().split("\n");
		results = rows.map((row) => JSON.parse(row));
		results = read?.(results) ?? results;
	} catch {
		return `not results: ${stdout}`;
	}
	if (results.length !== lines) return `${results.length} lines of output, not ${lines}`;
	for (const result of results) {
		if (result.state !== "ready") return `the embedder is ${result.state}`;
		const right =
			result.scores.length === scores.length &&
			scores.every((score, i) => Math.abs(score - result.scores[i]) <= tolerance);
		if (!right) return `scores ${result.scores} for ${scores}`;
		if (library !== result.library) return `ONNX Runtime ${result.library} for ${library}`;
		const { source, novelty } = result.again ?? { source: from, novelty: 0 };
		if (source !== from || novelty > 1e-6) return `scored again: ${JSON.stringify(result.again)}`;
	}
	return null;
}
