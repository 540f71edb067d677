/** Prints the results. */
import { runtimes } from "./runtimes.mjs";

const MARKS = { ok: "ok", failed: "FAILED", cannot: "cannot" };

const TITLES = {
	installers: "installed by, program",
	sdk: "the SDK over it, installed by, program",
	cli: "the command line, installed by, program",
	forms: "installed by npm",
	tests: "under a test runner",
	bundles: "bundled, package external",
};

function printRows(title, cells, outcomes, notes) {
	const columns = runtimes.map(({ name }) => name);
	const rows = [...new Set(cells.map(({ row }) => row))];
	const text = rows.map((row) => [
		row,
		...columns.map((column) => {
			const cell = cells.find((one) => one.row === row && one.column === column);
			const outcome = cell && outcomes.get(cell);
			if (!outcome) return "";
			const time = outcome.seconds ? ` ${outcome.seconds.toFixed(1)} s` : "";
			if (!outcome.limit) return MARKS[outcome.state] + time;
			if (!notes.includes(outcome.limit)) notes.push(outcome.limit);
			return `${MARKS.cannot} [${notes.indexOf(outcome.limit) + 1}]`;
		}),
	]);
	const all = [[title, ...columns], ...text];
	const widths = all[0].map((_, i) => Math.max(...all.map((row) => row[i].length)));
	console.log();
	for (const row of all)
		console.log(
			row
				.map((value, i) => value.padEnd(widths[i]))
				.join("  ")
				.trimEnd(),
		);
}

/** Prints the tables of the cells that were run. */
export function printTables(outcomes) {
	const cells = [...outcomes.keys()];
	const notes = [];
	for (const [table, title] of Object.entries(TITLES)) {
		const some = cells.filter((cell) => cell.table === table);
		if (some.length > 0) printRows(title, some, outcomes, notes);
	}
	for (const [i, { reason, message }] of notes.entries())
		console.log(`[${i + 1}] ${reason}; it fails as expected, with ${message}`);
}

/** Prints the versions of all tools. */
export function printVersions(installers, runtimes, tools) {
	const list = (some) =>
		// The name of a runtime may end with its major version.
		some.map(({ name, version }) => `${name.replace(/ \d+$/, "")} ${version}`).join(", ");
	console.log(`installers: ${list(installers)}`);
	console.log(`runtimes:   ${list(runtimes)}`);
	console.log(`tools:      ${list(tools)}`);
}
