/**
 * Tries the packages in dist/ with installers, runtimes, module systems, test runners and bundlers,
 * and checks what they contain and do: node tools/install-matrix/run.mjs [--only TEXT] [--keep]
 * [--time]. See README.md.
 */
import { parseArgs } from "node:util";
import { inTurn } from "../lib/process.mjs";
import { cells, runCell } from "./cells.mjs";
import { checks } from "./checks.mjs";
import { failures } from "./failures.mjs";
import { installers } from "./installers.mjs";
import { runtimes } from "./runtimes.mjs";
import { printTables, printVersions } from "./table.mjs";
import { timeInstalls } from "./time.mjs";
import { versionOf } from "./tools.mjs";
import { Workspace } from "./workspace.mjs";

const { values: options } = parseArgs({
	options: {
		only: { type: "string" },
		keep: { type: "boolean", default: false },
		time: { type: "boolean", default: false },
	},
});

const AT_ONCE = 2;

const wanted = (label) => label.toLowerCase().includes((options.only ?? "").toLowerCase());

function indented(text) {
	return text.replace(/^/gm, "    ");
}

function report(state, seconds, label, details) {
	const time = seconds === undefined ? "" : `${seconds.toFixed(1)} s`;
	console.log(`${state.padEnd(7)}${time.padStart(7)}  ${label}`);
	if (details) console.log(indented(details));
}

async function runCells(workspace) {
	const outcomes = new Map();
	const chosen = cells.filter(({ label }) => wanted(label));
	await inTurn(chosen, AT_ONCE, async (cell) => {
		const outcome = await runCell(cell, workspace);
		outcomes.set(cell, outcome);
		report(outcome.state, outcome.seconds, cell.label, outcome.details);
	});
	return new Map(chosen.map((cell) => [cell, outcomes.get(cell)]));
}

/** Runs a check, which returns one line about what it found, or throws. */
async function runCheck({ name, check }, workspace) {
	const started = performance.now();
	let finding;
	try {
		finding = { name, ok: true, text: await check(workspace) };
	} catch (error) {
		finding = { name, ok: false, text: error.message };
	}
	const seconds = (performance.now() - started) / 1000;
	const { ok, text } = finding;
	report(ok ? "ok" : "failed", seconds, name, ok ? "" : text);
	return finding;
}

/** Runs all checks; those of failed installs have projects of their own and run side by side. */
async function runChecks(workspace) {
	const findings = new Map();
	const run = async (all, width) => {
		const chosen = all.filter(({ name }) => wanted(name));
		for (const { name } of chosen) findings.set(name, undefined);
		await inTurn(chosen, width, async (one) =>
			findings.set(one.name, await runCheck(one, workspace)),
		);
	};
	await run(checks, 1);
	await run(failures, AT_ONCE);
	return [...findings.values()];
}

function tools() {
	const names = ["typescript", "esbuild", "webpack", "@rspack/core", "vite"];
	return [...names, "jest", "vitest"].map((name) => ({
		name,
		version: versionOf(name),
	}));
}

async function main() {
	const started = performance.now();
	const workspace = await Workspace.open();
	// Also when it is interrupted.
	process.once("exit", () => workspace.close(options.keep));
	await workspace.publish(console.log);
	const outcomes = await runCells(workspace);
	const findings = await runChecks(workspace);
	const times = options.time ? await timeInstalls(workspace, console.log) : [];
	console.log();
	printVersions(installers, runtimes, tools());
	printTables(outcomes);
	console.log();
	for (const { name, ok, text } of findings)
		console.log(`${ok ? "ok    " : "FAILED"}  ${name}: ${text.split("\n")[0]}`);
	for (const line of times) console.log(`time    ${line}`);
	const all = [
		...[...outcomes.values()].map(({ state }) => state !== "failed"),
		...findings.map(({ ok }) => ok),
	];
	const passed = all.filter(Boolean).length;
	const seconds = (performance.now() - started) / 1000;
	console.log(`\n${seconds.toFixed(0)} s, tools not counted`);
	console.log(`${passed} passed, ${all.length - passed} failed`);
	// A run of nothing proves nothing.
	return all.length > 0 && passed === all.length;
}

try {
	// Also ends the registry.
	process.exit((await main()) ? 0 : 1);
} catch (error) {
	console.error(`error: ${error.message}`);
	process.exit(1);
}
