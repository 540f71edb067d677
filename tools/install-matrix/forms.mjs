/**
 * The ways in which a program may use the package. A form is a fixture that is run, after a `build`
 * if it has one, by each of `on` (every runtime by default), and prints `lines` results, or the report
 * of a test runner with `tests` tests. `again` is what the novelty of a trace that is scored again is from. `tool` and `setting` are for deployments.mjs.
 *
 * `limits` names the runtimes on which it cannot work, with the reason and the message that it fails
 * with; the failure is checked. `standalone` is a file that runs without a runtime, `elsewhere` starts
 * it outside of the project. `read` makes a result of the output of a program that prints something else.
 * `library` is the version of ONNX Runtime that the result has.
 */
import { join } from "node:path";
import { EXPECTED } from "./fixtures.mjs";
import { bun, entryOf, here, runtimes, tool, toolNode } from "./tools.mjs";

/** The result in the rows of `kp-score score`. */
function readRows(stdout) {
	const rows = stdout
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	const state = rows.every(({ modelFingerprint }) => modelFingerprint) ? "ready" : "off";
	return JSON.stringify({ state, scores: rows.map(({ score }) => score) });
}

const EXTERNAL = "@knowledgepulse/scoring";

/** A build whose arguments are separated by spaces. */
const build = (key, program, args) => ({ key, command: () => [...program, ...args.split(" ")] });

const tsc = (kind) =>
	build(
		`tsc ${kind}`,
		[toolNode, tool("typescript/bin/tsc"), "--typeRoots", tool("@types")],
		`-p tsconfig.${kind}.json`,
	);

/** The rows of the table in docs/install.md, whose settings the builds have. */
const ESBUILD = { tool: "esbuild", setting: `--external:${EXTERNAL}` };
const BUN = { tool: "Bun's bundler", setting: `--target=node --external ${EXTERNAL}` };
const VITE = { tool: "Vite SSR" };
const PACK = {
	tool: "webpack, Rspack",
	setting: 'externals: /^@knowledgepulse\\//, externalsType: "commonjs"',
};
/** An executable reads package.json, which leads to the entry points, only if built with this option. */
const COMPILE = {
	tool: "Bun, executable",
	setting: `--compile --compile-autoload-package-json --external ${EXTERNAL}`,
};
const esbuild = (format, entry, out) =>
	build(
		`esbuild ${format}`,
		[tool("esbuild/bin/esbuild")],
		`${entry} --bundle --platform=node --format=${format} ${ESBUILD.setting} --outfile=${out}`,
	);

const pack = (bundler, out) => ({
	key: bundler,
	command: (folder) => [
		toolNode,
		join(here, "pack.mjs"),
		entryOf(bundler),
		folder,
		join(folder, out),
	],
});

const vite = build(
	"vite",
	[toolNode, tool("vite/bin/vite.js")],
	"build --ssr logs.mjs --outDir out/vite --logLevel warn",
);

const bunBuild = (args) => build(`bun build ${args}`, [bun], `build ${args}`);

const SERVER_RUNTIMES = ["Node 20", "Node 22", "Node 24", "Node 26", "Bun"];

/** The program of the command line. */
export const cliForms = [
	{ name: "kp-score", file: "kp-score.cjs", read: readRows, on: SERVER_RUNTIMES },
];

const bundle = (name, row, build, file) => ({ name, ...row, build, file, on: SERVER_RUNTIMES });

const typescript = (kind, system) => ({
	name: system ? `TypeScript ${kind}, ${system}` : `TypeScript ${kind}`,
	build: tsc(kind),
	file: `out/${kind}/score.${system === "CJS" ? "cjs" : "js"}`,
});

export const moduleForms = [
	{ name: "ES module", file: "score.mjs" },
	{ name: "CommonJS", file: "score.cjs" },
	{ name: "all entry points, ES module", file: "logs.mjs" },
	{ name: "all entry points, CommonJS", file: "logs.cjs" },
	typescript("node16", "ESM"),
	typescript("node16", "CJS"),
	typescript("nodenext", "ESM"),
	typescript("nodenext", "CJS"),
	typescript("bundler"),
	{
		name: "TypeScript, run as it is",
		file: "score.ts",
		limits: {
			"Node 20": {
				reason: "Node 20 runs no TypeScript; 22.18 and later do",
				message: /Unknown file extension "\.ts"/,
			},
		},
	},
	{ name: "one worker", file: "workers.mjs", args: ["1"] },
	{ name: "four workers", file: "workers.mjs", args: ["4"], lines: 4 },
	{ name: "evaluateValues with a signal", file: "batch.mjs" },
	{
		name: "a custom model without ONNX Runtime",
		file: "custom.mjs",
		limits: Object.fromEntries(
			runtimes.map(({ name }) => [
				name,
				{
					reason: "onnxruntime-node is not installed",
					message:
						/"code":"LIBRARY_UNAVAILABLE".* is not installed; .* npm install onnxruntime-node;/,
				},
			]),
		),
	},
];

/** Programs that use the SDK, which uses this package in place of transformers.js. */
export const sdkForms = ["mjs", "cjs"].map((extension) => ({
	name: extension === "mjs" ? "ES module" : "CommonJS",
	file: `sdk.${extension}`,
	on: ["Node 20", "Bun", "Deno"],
}));

/** The number of tests in fixtures/cases.cjs. */
const TESTS = 4;

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

export const bundleForms = [
	bundle("esbuild, ESM", ESBUILD, esbuild("esm", "logs.mjs", "out/esbuild.mjs"), "out/esbuild.mjs"),
	bundle("esbuild, CJS", ESBUILD, esbuild("cjs", "logs.cjs", "out/esbuild.cjs"), "out/esbuild.cjs"),
	bundle("webpack, ESM", PACK, pack("webpack", "out/webpack"), "out/webpack/logs.mjs"),
	bundle("webpack, CJS", PACK, pack("webpack", "out/webpack"), "out/webpack/logs.cjs"),
	bundle("Rspack, ESM", PACK, pack("@rspack/core", "out/rspack"), "out/rspack/logs.mjs"),
	bundle("Rspack, CJS", PACK, pack("@rspack/core", "out/rspack"), "out/rspack/logs.cjs"),
	bundle("Vite SSR", VITE, vite, "out/vite/logs.js"),
	bundle(
		"bun build",
		BUN,
		bunBuild(`logs.mjs ${BUN.setting} --outfile=out/bun.mjs`),
		"out/bun.mjs",
	),
	{
		name: "bun build --compile",
		...COMPILE,
		build: bunBuild(`logs.mjs ${COMPILE.setting} --outfile=out/compiled`),
		file: "out/compiled",
		on: ["Bun"],
		standalone: true,
	},
	{
		name: "bun build --compile, started elsewhere",
		build: bunBuild(`compiled.cjs ${COMPILE.setting} --outfile=out/compiled-anywhere`),
		file: "out/compiled-anywhere",
		on: ["Bun"],
		standalone: true,
		elsewhere: true,
	},
];

/** Returns what is wrong with the output of a form's program, or null. */
export function judge(stdout, form = {}) {
	const { lines, scores, tolerance, read, again, library } = { lines: 1, ...EXPECTED, ...form };
	let results;
	try {
		results = (read?.(stdout) ?? stdout).trim().split("\n");
	} catch {
		return `not rows: ${stdout}`;
	}
	if (results.length !== lines) return `${results.length} lines of output, not ${lines}`;
	for (const line of results) {
		let result;
		try {
			result = JSON.parse(line);
		} catch {
			return `not a result: ${line}`;
		}
		if (result.state !== "ready") return `the embedder is ${result.state}`;
		const right =
			result.scores.length === scores.length &&
			scores.every((score, i) => Math.abs(score - result.scores[i]) <= tolerance);
		if (!right) return `scores ${result.scores} for ${scores}`;
		if (library !== result.library) return `ONNX Runtime ${result.library} for ${library}`;
		const { source, novelty } = result.again ?? {};
		if (again && !(source === again && novelty < 1e-6))
			return `scored again: ${JSON.stringify(result.again)}`;
	}
	return null;
}

/** Returns what is wrong with the report of a test runner on `tests` tests, or null. */
export function judgeTests(stdout, tests) {
	try {
		const { success, numPassedTests } = JSON.parse(stdout);
		if (success && numPassedTests === tests) return null;
		return `${numPassedTests} tests passed, not ${tests}`;
	} catch {
		return "no report";
	}
}
