/**
 * Tries the packages in dist/ with installers, runtimes, module systems, test runners and bundlers, and
 * checks what they contain and do. README.md describes the tests and the options.
 */
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { execute, must, tail } from "../lib/process.mjs";
import { checks } from "./checks.mjs";
import { deploy, deployments } from "./deployments.mjs";
import { failures } from "./failures.mjs";
import {
	bundleForms,
	cliForms,
	judge,
	judgeTests,
	moduleForms,
	sdkForms,
	testForms,
} from "./forms.mjs";
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

const RUN_SECONDS = 60;
const BUILD_SECONDS = 120;
const AT_ONCE = { concurrency: 2 };

const workspace = await Workspace.open();
// Also on an interrupt.
process.once("exit", () => workspace.close(process.env.KEEP));
before(() => workspace.publish(console.log));
after(() => workspace.registry?.stop());

const builds = new Map();

/** Runs the build of a form, once for all its tests. */
function build({ key, command }, { folder, env }) {
	if (!builds.has(key))
		builds.set(key, execute(command(folder), { cwd: folder, env, seconds: BUILD_SECONDS }));
	return builds.get(key);
}

/** Runs a form. Fails unless the output is right, or the failure is that in `limits`. */
async function runForm(t, installer, form, runtime) {
	const project = await workspace.project(installer);
	if (form.build) {
		const { problem, stdout, stderr } = await build(form.build, project);
		assert.ok(!problem, `${form.build.key}: ${problem}\n${tail(stdout + stderr)}`);
	}
	// A tool's path is absolute.
	const file = resolve(project.folder, form.file);
	const command = form.standalone
		? [file]
		: [...runtime.layouts[installer.layout], file, ...(form.args ?? [])];
	const cwd = form.elsewhere ? workspace.elsewhere() : project.folder;
	const ended = await workspace.run(command, project, { cwd, seconds: RUN_SECONDS });
	const { stdout, stderr } = ended;
	const problem =
		ended.problem ?? (form.tests ? judgeTests(stdout, form.tests) : judge(stdout, form));
	const limit = form.limits?.[runtime.name];
	if (!limit) return assert.ok(!problem, `${problem}\n${tail(stdout + stderr)}`);
	assert.ok(problem, `it works now: ${limit.reason}`);
	assert.match(stdout + stderr, limit.message);
	t.diagnostic(`fails as expected: ${limit.reason}`);
}

/** The tests of each form with each installer, and with each runtime that can run it. */
function matrix(title, installers, forms) {
	describe(title, AT_ONCE, () => {
		for (const installer of installers)
			for (const form of forms)
				for (const runtime of runtimes) {
					const isMeant = form.on?.includes(runtime.name) ?? true;
					if (!isMeant || !runtime.layouts[installer.layout]) continue;
					const name = `${installer.name}, ${form.name} / ${runtime.name}`;
					test(name, (t) => runForm(t, installer, form, runtime));
				}
	});
}

/** The tests of the deployments of a part, or of those that are in none. */
function deployed(part) {
	describe("deployments", AT_ONCE, () => {
		for (const deployment of deployments.filter((deployment) => deployment.part === part))
			test(deployment.name, async (t) => t.diagnostic(await deploy(workspace, deployment)));
	});
}

function all() {
	// The installers' tests have the first two forms.
	matrix("installers", installers, moduleForms.slice(0, 2));
	matrix("the SDK", sdkInstallers, sdkForms);
	matrix("the command line", cliInstallers, cliForms);
	matrix("module systems", [npmInstaller], moduleForms.slice(2));
	matrix("test runners", [npmInstaller], testForms);
	matrix("bundles, with the package external", [npmInstaller], bundleForms);
	for (const { installer, form } of onnxRuntimes) matrix("ONNX Runtime", [installer], [form]);
	for (const { name, installer, form } of [...frameworks, ...telemetry])
		matrix(name, [installer], [form]);
	deployed();

	// The tests of the checkout have the newest.
	test("PostgreSQL's store works with the oldest pg", async () => {
		const env = { ...process.env, KP_PG_DRIVER: tool("pg-oldest") };
		// The others test the SQL, which is the same.
		const files = ["conformance", "connections", "drivers"].map(
			(name) => `packages/stores/__test__/postgres/${name}.test.mjs`,
		);
		const command = [process.execPath, "--test", ...files];
		await must(command, { cwd: resolve(import.meta.dirname, "../.."), env, seconds: 600 });
	});

	for (const { name, layouts } of runtimes.filter(({ name }) => /^Node (22|24|26)$/.test(name)))
		test(`SQLite's store works with the SQLite of ${name}`, async () => {
			const files = ["sqlite/*.test.mjs", "scorer/repair.test.mjs"];
			const command = [
				...[...layouts.node_modules, "--test"],
				...files.map((file) => `packages/stores/__test__/${file}`),
			];
			await must(command, { cwd: resolve(import.meta.dirname, "../.."), seconds: 600 });
		});

	describe("checks", () => {
		for (const { name, check } of checks)
			test(name, async (t) => t.diagnostic(await check(workspace)));
	});

	describe("failed installs", AT_ONCE, () => {
		for (const { name, check } of failures)
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
