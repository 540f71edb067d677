/** The cells of the matrix: what is run, by what, and what it has to print. */
import { resolve } from "node:path";
import { execute, tail } from "../lib/process.mjs";
import { expected } from "./expected.mjs";
import { bundleForms, cliForms, moduleForms, sdkForms, testForms } from "./forms.mjs";
import { cliInstallers, installers, npmInstaller } from "./installers.mjs";
import { runtimes } from "./runtimes.mjs";
import { sdkInstallers } from "./sdk.mjs";

const RUN_SECONDS = 60;

const [esModule, commonJs] = moduleForms;

const cell = (table, row, installer, form, runtime) => ({
	table,
	row,
	column: runtime.name,
	label: `${row} / ${runtime.name}`,
	installer,
	form,
	runtime,
});

/** Every installer with every runtime that reads its layout and that the form is meant for. */
function installerCells(table, installers, forms) {
	return installers.flatMap((installer) =>
		forms.flatMap((form) =>
			runtimes
				.filter(({ name }) => form.on?.includes(name) ?? true)
				.filter(({ layouts }) => layouts[installer.layout])
				.map((runtime) => cell(table, `${installer.name}, ${form.name}`, installer, form, runtime)),
		),
	);
}

/** Every form with every runtime that it is meant for, installed by npm. */
function formCells(table, forms) {
	return forms.flatMap((form) =>
		runtimes
			.filter(({ name }) => form.on?.includes(name) ?? true)
			.map((runtime) => cell(table, form.name, npmInstaller, form, runtime)),
	);
}

export const cells = [
	...installerCells("installers", installers, [esModule, commonJs]),
	...installerCells("sdk", sdkInstallers, sdkForms),
	...installerCells("cli", cliInstallers, cliForms),
	// The installers' rows have the first two forms.
	...formCells("forms", moduleForms.slice(2)),
	...formCells("tests", testForms),
	...formCells("bundles", bundleForms),
];

const builds = new Map();

function build({ key, command }, { folder, env }) {
	let built = builds.get(key);
	if (!built) {
		built = execute(command(folder), { cwd: folder, env, seconds: 120 });
		builds.set(key, built);
	}
	return built;
}

/** What is wrong with the output of a program that should print such results; null if nothing is. */
export function judge(stdout, form = {}) {
	const { lines, scores, tolerance, read } = { lines: 1, ...expected, ...form };
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
	}
	return null;
}

/** What is wrong with the report of a test runner on `tests` tests; null if nothing is. */
function judgeTests(stdout, tests) {
	try {
		const { success, numPassedTests } = JSON.parse(stdout);
		if (success && numPassedTests === tests) return null;
		return `${numPassedTests} tests passed, not ${tests}`;
	} catch {
		return "no report";
	}
}

/** Runs a cell: `{ state: "ok" | "cannot" | "failed", seconds, details }`. */
export async function runCell({ installer, form, runtime }, workspace) {
	let project;
	try {
		project = await workspace.project(installer);
	} catch (error) {
		return { state: "failed", details: error.message };
	}
	if (form.build) {
		const { problem, stdout, stderr } = await build(form.build, project);
		if (problem)
			return {
				state: "failed",
				details: `${form.build.key}: ${problem}\n${tail(stdout + stderr)}`,
			};
	}
	// A tool's path is absolute.
	const file = resolve(project.folder, form.file);
	const command = form.standalone
		? [file]
		: [...runtime.layouts[installer.layout], file, ...(form.args ?? [])];
	const cwd = form.elsewhere ? workspace.elsewhere() : project.folder;
	const ended = await workspace.run(command, project, {
		cwd,
		seconds: RUN_SECONDS,
	});
	const { seconds, stdout, stderr } = ended;
	const problem =
		ended.problem ?? (form.tests ? judgeTests(stdout, form.tests) : judge(stdout, form));
	const limit = form.limits?.[runtime.name];
	if (limit && problem && limit.message.test(stdout + stderr))
		return { state: "cannot", seconds, limit };
	if (limit)
		return {
			state: "failed",
			seconds,
			details: `expected to fail with ${limit.message}: ${problem ?? "but it works now"}\n${tail(stdout + stderr)}`,
		};
	return problem
		? {
				state: "failed",
				seconds,
				details: `${problem}\n${tail(stdout + stderr)}`,
			}
		: { state: "ok", seconds };
}
