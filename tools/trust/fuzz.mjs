/**
 * Fuzzing with coverage. The targets in `fuzz/` compare the engine with naive models, and check what
 * comes out of logs; a difference, a panic, a sanitizer report, a leak, 2 GB of memory or 30 seconds
 * for one input end the run.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { readLogs } from "../../__test__/support/logs.mjs";
import { execute, inTurn } from "../lib/process.mjs";
import { attempt, root } from "../lib/run.mjs";
import { tool } from "./rust.mjs";

/**
 * The short run tries the same inputs each time, so that a change does not fail for an older defect;
 * the full run looks for new ones.
 */
const LIMITS = {
	short: { name: "3,000 inputs", flags: ["-seed=1", "-runs=3000"], seconds: 60 },
	full: { name: "20 minutes", flags: [], seconds: 1200 },
};
/** More than reading a corpus and one slow input take. */
const GRACE_S = 300;

const folder = join(root, "fuzz");
/** The importers also start with logs, which are longer than what the other targets read. */
const IMPORT = "import";
const LENGTH = { [IMPORT]: 65_536, other: 2048 };

/** Allows instrumentation and sanitizers, which are unstable, in the stable compiler. */
const IN_FUZZ = { cwd: folder, env: { ...process.env, RUSTC_BOOTSTRAP: "1" } };

/** Describes a finding, and how to reproduce it. */
function describe(target, problem, output) {
	const [, file] = /Test unit written to (\S+)/.exec(output) ?? [];
	const lines = output.split("\n");
	const first = lines.findIndex((line) => /panicked at|ALARM|ERROR/.test(line));
	const again = `(cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run ${target} ${file})`;
	const input = file && existsSync(file) && readFileSync(file).toString("base64");
	return [
		`fuzzing ${target}: ${problem}`,
		...lines.slice(Math.max(first, 0)).slice(0, 80),
		...(input ? [`input, as base64: ${input}`, `reproduce: ${again}`] : []),
	].join("\n");
}

/** Adds the logs to a corpus, each after a line with the name of its format, and after another log and a blank line. */
function addLogs(corpus) {
	let other = Buffer.of();
	for (const { golden, paths } of readLogs())
		for (const [index, { file, formats }] of golden.entries()) {
			const log = readFileSync(paths[index]);
			for (const format of [...formats, ""]) {
				const parts = format ? [`${format}\n`, log] : ["\n", other, "\n", log];
				const name = join(corpus, `${format}-${file.replaceAll("/", "-")}`);
				writeFileSync(name, Buffer.concat(parts.map((part) => Buffer.from(part))));
			}
			other = log;
		}
}

/** Writes the seeds of a target into a folder; returns the folder. */
function writeSeeds(target) {
	const seeds = join(folder, "target/seeds", target);
	const all = JSON.parse(readFileSync(join(folder, "seeds.json"), "utf8"));
	// The importers start with logs.
	const { encoding, inputs } = all[target] ?? { inputs: {} };
	mkdirSync(seeds, { recursive: true });
	for (const [name, input] of Object.entries(inputs))
		writeFileSync(join(seeds, name), Buffer.from(input, encoding));
	return seeds;
}

/** Runs a target. It starts with its seeds and what earlier runs have found, and adds to the latter. */
async function runTarget(program, target, { flags, seconds }) {
	const corpus = join(folder, "target/corpus", target);
	const dictionary = join(folder, "dictionaries", `${target}.dict`);
	mkdirSync(corpus, { recursive: true });
	if (target === IMPORT) addLogs(corpus);
	const command = [
		program,
		"run",
		target,
		corpus,
		writeSeeds(target),
		"--",
		...(existsSync(dictionary) ? [`-dict=${dictionary}`] : []),
		...flags,
		`-max_total_time=${seconds}`,
		"-timeout=30",
		"-rss_limit_mb=2048",
		// Long inputs early, because short ones hardly get past the first field.
		"-len_control=20",
		`-max_len=${LENGTH[target] ?? LENGTH.other}`,
	];
	const options = { ...IN_FUZZ, seconds: seconds + GRACE_S };
	const { problem, stdout, stderr } = await execute(command, options);
	const output = stdout + stderr;
	if (problem) throw new Error(describe(target, problem, output));
	const [summary] = /DONE +cov: .*/.exec(output) ?? [];
	if (!summary) throw new Error(`no summary in\n${output}`);
	return summary;
}

/** Runs all targets; throws if one has found something. */
export async function fuzz({ short }) {
	const program = tool("cargo-fuzz");
	const { code } = attempt(program, ["build"], { ...IN_FUZZ, stdio: "inherit" });
	if (code !== 0) throw new Error(`cargo fuzz build ended with ${code}`);
	const limits = short ? LIMITS.short : LIMITS.full;
	const targets = readdirSync(join(folder, "fuzz_targets"))
		.map((file) => basename(file, ".rs"))
		.sort();
	const findings = [];
	await inTurn(targets, availableParallelism(), async (target) => {
		console.log(`${target}: ${limits.name}`);
		try {
			console.log(`${target}: ${await runTarget(program, target, limits)}`);
		} catch (error) {
			findings.push(error.message);
		}
	});
	if (findings.length > 0) throw new Error(findings.join("\n\n"));
}
