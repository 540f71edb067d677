/**
 * Tries the packages in dist/ with installers, runtimes, module systems and bundlers, and looks at
 * what they are and do: node install-matrix/run.mjs [--only TEXT] [--keep] [--time]. See README.md.
 */
import { parseArgs } from "node:util";
import { installTools, versionOf } from "./tools.mjs";

const { values: options } = parseArgs({
	options: {
		only: { type: "string" },
		keep: { type: "boolean", default: false },
		time: { type: "boolean", default: false },
	},
});

const AT_ONCE = 2;

const wanted = (label) =>
	label.toLowerCase().includes((options.only ?? "").toLowerCase());

function indented(text) {
	return text.replace(/^/gm, "    ");
}

function report(state, seconds, label, details) {
	const time = seconds === undefined ? "" : `${seconds.toFixed(1)} s`;
	console.log(`${state.padEnd(7)}${time.padStart(7)}  ${label}`);
	if (details) console.log(indented(details));
}

async function runCells(workspace) {
	const { cells, runCell } = await import("./cells.mjs");
	const { inTurn } = await import("./process.mjs");
	const outcomes = new Map();
	const chosen = cells.filter(({ label }) => wanted(label));
	await inTurn(chosen, AT_ONCE, async (cell) => {
		const outcome = await runCell(cell, workspace);
		outcomes.set(cell, outcome);
		report(outcome.state, outcome.seconds, cell.label, outcome.details);
	});
	return new Map(chosen.map((cell) => [cell, outcomes.get(cell)]));
}

/** Checks are functions that return what they found, one line, or throw. */
async function runChecks(workspace) {
	const { checks } = await import("./checks.mjs");
	const { failures } = await import("./failures.mjs");
	const findings = [];
	for (const { name, check } of [...checks, ...failures]) {
		if (!wanted(name)) continue;
		const started = performance.now();
		let finding;
		try {
			finding = { name, ok: true, text: await check(workspace) };
		} catch (error) {
			finding = { name, ok: false, text: error.message };
		}
		findings.push(finding);
		const seconds = (performance.now() - started) / 1000;
		report(
			finding.ok ? "ok" : "failed",
			seconds,
			name,
			finding.ok ? "" : finding.text,
		);
	}
	return findings;
}

function bundlers() {
	return ["typescript", "esbuild", "webpack", "@rspack/core", "vite"].map(
		(name) => ({ name, version: versionOf(name) }),
	);
}

async function main() {
	installTools();
	// They ask the tools for their versions.
	const { Workspace } = await import("./workspace.mjs");
	const { installers } = await import("./installers.mjs");
	const { runtimes } = await import("./runtimes.mjs");
	const { printTables, printVersions } = await import("./table.mjs");
	const started = performance.now();
	const workspace = await Workspace.open();
	// Also when it is interrupted.
	process.once("exit", () => workspace.close(options.keep));
	await workspace.publish(console.log);
	const outcomes = await runCells(workspace);
	const findings = await runChecks(workspace);
	const { timeInstalls } = await import("./time.mjs");
	const times = options.time ? await timeInstalls(workspace, console.log) : [];
	console.log();
	printVersions(installers, runtimes, bundlers());
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
	// Nothing tried is nothing shown.
	return all.length > 0 && passed === all.length;
}

try {
	// The registry is still running: this ends it.
	process.exit((await main()) ? 0 : 1);
} catch (error) {
	console.error(`error: ${error.message}`);
	process.exit(1);
}
