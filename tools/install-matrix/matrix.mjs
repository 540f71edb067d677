/**
 * Tries the packages in dist/ with installers, runtimes, module systems, test runners and bundlers, and
 * checks what they contain and do. README.md describes the tests and the options.
 */
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { must, tail } from "../lib/process.mjs";
import { root } from "../lib/run.mjs";
import { checks } from "./checks.mjs";
import { deployments, start } from "./deployments.mjs";
import { cliForm, judge, moduleForms, sdkForms, systemForms, testForms } from "./forms.mjs";
import {
	cliInstallers,
	frameworks,
	installers,
	npmInstaller,
	onnxRuntimes,
	telemetry,
} from "./installers.mjs";
import { sdkInstallers } from "./sdk.mjs";
import { runtimes, tool } from "./tools.mjs";
import { Workspace } from "./workspace.mjs";

const AT_ONCE = { concurrency: 2 };

const workspace = await Workspace.open();
// Also on an interrupt.
process.once("exit", () => workspace.close(process.env.KEEP));
before(() => workspace.publish(console.log));
after(() => workspace.registry?.stop());

/** The runtimes with these names, or all, in which a layout works. */
const runtimesOf = (names, layout) =>
	runtimes.filter(({ name, layouts }) => layouts[layout] && (names?.includes(name) ?? true));

/** Runs a form. Fails unless the output is right. */
async function run(installer, form, runtime) {
	const project = await workspace.project(installer);
	if (form.build) await workspace.build(form.build, project);
	// A tool's path is absolute.
	const file = resolve(project.folder, form.file);
	const command = [...runtime.layouts[installer.layout], file, ...(form.args ?? [])];
	const ended = await workspace.run(command, project);
	const problem = ended.problem ?? judge(ended.stdout, form);
	assert.ok(!problem, `${problem}\n${tail(ended.stdout + ended.stderr)}`);
}

/** Each installer with each form. */
const each = (installers, forms) =>
	installers.flatMap((installer) => forms.map((form) => ({ installer, form })));

/** The tests of forms with installers, and with each runtime that can run them. */
function matrix(title, cells) {
	describe(title, AT_ONCE, () => {
		for (const { installer, form } of cells)
			for (const runtime of runtimesOf(form.on, installer.layout))
				test(`${installer.name}, ${form.name} / ${runtime.name}`, () =>
					run(installer, form, runtime));
	});
}

/** The tests of the deployments of a part, or of those that are in none. */
function deployed(part) {
	describe("deployments", AT_ONCE, () => {
		for (const deployment of deployments.filter((deployment) => deployment.part === part))
			for (const runtime of runtimesOf(deployment.on ?? ["Node 24"], "node_modules"))
				test(`${deployment.name} / ${runtime.name}`, async (t) =>
					t.diagnostic(await start(workspace, deployment, runtime)));
	});
}

/** Runs tests of the checkout by a runtime, with another driver of a database. */
const testStores = ([program], files, env = {}) =>
	must([program, "--test", ...files.map((file) => `packages/stores/__test__/${file}`)], {
		cwd: root,
		env: { ...process.env, ...env },
		seconds: 600,
	});

function all() {
	matrix("installers", each(installers, systemForms));
	matrix("the SDK", each(sdkInstallers, sdkForms));
	matrix("the command line", each(cliInstallers, [cliForm]));
	matrix("module systems", each([npmInstaller], moduleForms));
	matrix("test runners", each([npmInstaller], testForms));
	matrix("with other packages", [...onnxRuntimes, ...frameworks, ...telemetry]);
	deployed();

	// The tests of the checkout have the newest. The others test the SQL, which is the same.
	const files = ["conformance", "connections", "drivers"].map(
		(name) => `postgres/${name}.test.mjs`,
	);
	test("PostgreSQL's store works with the oldest pg", () =>
		testStores([process.execPath], files, { KP_PG_DRIVER: tool("pg-oldest") }));
	for (const { name, layouts } of runtimesOf(["Node 22", "Node 24", "Node 26"], "node_modules"))
		test(`SQLite's store works with the SQLite of ${name}`, () =>
			testStores(layouts.node_modules, ["sqlite/*.test.mjs", "scorer/repair.test.mjs"]));

	describe("checks", () => {
		for (const [name, check] of Object.entries(checks))
			test(name, async (t) => t.diagnostic(await check(workspace)));
	});
}

// The workflow gives all parts in one argument, which may be empty.
const parts = process.argv.slice(2).flatMap((given) => given.split(" ").filter(Boolean));
for (const part of parts) {
	const known = new Set(deployments.flatMap((deployment) => deployment.part ?? []));
	assert.ok(known.has(part), `no part ${part}: there are ${[...known].join(", ")}`);
	deployed(part);
}
if (parts.length === 0) all();
