/** The cells of the matrix: what is run, by what, and what it has to print. */
import { join } from "node:path";
import { bundleForms, moduleForms } from "./forms.mjs";
import { installers, npmInstaller } from "./installers.mjs";
import { execute, tail } from "./process.mjs";
import { runtimes } from "./runtimes.mjs";
import { expected } from "./workspace.mjs";

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

/** Every installer with every runtime that reads what it leaves. */
function installerCells() {
	return installers.flatMap((installer) =>
		[esModule, commonJs].flatMap((form) =>
			runtimes
				.filter(({ layouts }) => layouts[installer.layout])
				.map((runtime) =>
					cell(
						"installers",
						`${installer.name}, ${form.name}`,
						installer,
						form,
						runtime,
					),
				),
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
	...installerCells(),
	// npm's rows have the first two forms already.
	...formCells("forms", moduleForms.slice(2)),
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

/** What is wrong with the output of a program that has to print `lines` results; null if nothing. */
export function judge(stdout, lines = 1) {
	const results = stdout.trim().split("\n");
	if (results.length !== lines)
		return `${results.length} lines of output, not ${lines}`;
	for (const line of results) {
		let result;
		try {
			result = JSON.parse(line);
		} catch {
			return `not a result: ${line}`;
		}
		if (result.state !== "ready") return `the embedder is ${result.state}`;
		const right =
			result.scores.length === expected.scores.length &&
			expected.scores.every(
				(score, i) => Math.abs(score - result.scores[i]) <= expected.tolerance,
			);
		if (!right) return `scores ${result.scores} for ${expected.scores}`;
	}
	return null;
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
	const file = join(project.folder, form.file);
	const command = form.standalone
		? [file]
		: [...runtime.layouts[installer.layout], file, ...(form.args ?? [])];
	const cwd = form.elsewhere ? workspace.elsewhere() : project.folder;
	const ended = await workspace.run(command, project, {
		cwd,
		seconds: RUN_SECONDS,
	});
	const { seconds, stdout, stderr } = ended;
	const problem = ended.problem ?? judge(stdout, form.lines);
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
