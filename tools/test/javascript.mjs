/** Runs test files with node:test, each in a separate process. */
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { repeats } from "../../__test__/support/draws.mjs";
import { execute, tail } from "../lib/process.mjs";
import { capture, root } from "../lib/run.mjs";
import { say } from "../lib/steps.mjs";

const REPORTER = fileURLToPath(new URL("events.mjs", import.meta.url));

/** Files with this ending measure time or memory, or run cargo: nothing runs beside them. */
const ALONE = ".alone.test.mjs";

const SLOWEST = 10;

/** A file that takes longer hangs. */
const FILE_SECONDS = repeats(300);

/** The events of a file's tests; a last failure if the process did not end well. */
async function eventsOf(file, under, folder) {
	const report = join(folder, file.replaceAll(/\W/g, "-"));
	const command = [
		...[...under, process.execPath, "--test-reporter", REPORTER],
		"--test-reporter-destination",
		report,
		file,
	];
	const output = openSync(`${report}.log`, "w");
	const { problem } = await execute(command, {
		cwd: root,
		seconds: FILE_SECONDS,
		stdio: ["ignore", output, output],
	});
	closeSync(output);
	const events = (existsSync(report) ? readFileSync(report, "utf8") : "")
		.split("\n")
		.filter(Boolean)
		.map((line) => ({ file, ...JSON.parse(line) }));
	if (!problem) return events;
	if (!events.some(({ failure }) => failure))
		events.push({ file, name: file, line: 1, ms: 0, failure: problem });
	for (const { name, line, failure, diagnostic } of events)
		if (failure) say(`FAILED  ${file}:${line}: ${name}\n${failure}`);
		else if (diagnostic) say(diagnostic);
	say(tail(readFileSync(`${report}.log`, "utf8")));
	return events;
}

/**
 * The prefix of commands for each lane. There are three lanes for two cores, because some tests mostly
 * wait. On Linux each lane has one core, because the threads of a model spin: two models on the same
 * cores would take many times as long.
 */
function lanes() {
	const count = Math.ceil(1.5 * availableParallelism());
	const free = Array.from({ length: count }, () => []);
	if (process.platform !== "linux") return free;
	const status = readFileSync("/proc/self/status", "utf8");
	const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? "";
	const cores = list.split(",").flatMap((range) => {
		const [first, last = first] = range.split("-").map(Number);
		return Array.from({ length: last - first + 1 }, (_, at) => first + at);
	});
	if (capture("taskset", ["-c", String(cores[0]), "true"]) === undefined) return free;
	return free.map((_, lane) => ["taskset", "-c", String(cores[lane % cores.length])]);
}

/** Runs the files, those that must run alone after `others`; `tell` gets the progress. */
export async function runTests(files, others, tell) {
	const folder = mkdtempSync(join(tmpdir(), "scoring-test-"));
	const results = { passed: 0, failed: 0, skipped: 0, tests: [] };
	let done = 0;
	async function runFile(file, under) {
		const events = await eventsOf(file, under, folder);
		for (const event of events.filter(({ name }) => name)) {
			const { failure, skipped } = event;
			results[failure ? "failed" : skipped ? "skipped" : "passed"] += 1;
			results.tests.push(event);
		}
		done += 1;
		const { passed, failed } = results;
		tell(`${passed} passed, ${failed} failed, ${done} of ${files.length} files`);
	}
	const isAlone = (file) => file.endsWith(ALONE);
	const rest = files.filter((file) => !isAlone(file));
	await Promise.all(
		lanes().map(async (under) => {
			while (rest.length > 0) await runFile(rest.shift(), under);
		}),
	);
	await others;
	for (const file of files.filter(isAlone)) await runFile(file, []);
	rmSync(folder, { recursive: true });
	return results;
}

/** Prints the slowest tests, the skipped ones, and again the failed ones. */
export function summarise({ tests }) {
	const slowest = tests.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
	say("\nThe slowest tests:");
	for (const { name, file, ms } of slowest)
		say(`${(ms / 1000).toFixed(1).padStart(6)} s  ${file}: ${name}`);
	for (const { file, name, skipped } of tests)
		if (skipped) say(`skipped  ${file}: ${name} (${skipped})`);
	for (const { file, name, failure } of tests) if (failure) say(`FAILED  ${file}: ${name}`);
}
