/**
 * Fuzzing with coverage. The targets in `fuzz/` compare the engine with naive models; a difference,
 * a panic, a sanitizer's finding, a leak, 2 GB of memory or 30 seconds for one input end the run.
 */
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import {
	build,
	execute,
	folder,
	grown,
	kept,
	TARGETS,
} from "./fuzz/cargo-fuzz.mjs";
import { main } from "./lib/main.mjs";

export const title = "Fuzzing with coverage";

const SECONDS = { short: 10, full: 1200 };

const count = (text) => Number(text).toLocaleString("en");

/** What libFuzzer says at the end of a run. */
function statistics(output) {
	const [, edges, features, inputs] =
		/DONE +cov: (\d+) ft: (\d+) corp: (\d+)\//.exec(output) ?? [];
	const [, executed] = /number_of_executed_units: (\d+)/.exec(output) ?? [];
	if (!executed || !edges) throw new Error(`no statistics in\n${output}`);
	return { executed, edges, features, inputs };
}

/** The error that says what was found, and how to see it again. */
function finding(target, output) {
	const [, file] = /Test unit written to (\S+)/.exec(output) ?? [];
	const lines = output.split("\n");
	const first = lines.findIndex((line) => /panicked at|ALARM|ERROR/.test(line));
	const again = `(cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run ${target} ${file})`;
	const input =
		file && existsSync(file) && readFileSync(file).toString("base64");
	return new Error(
		[
			`fuzzing ${target} ended early`,
			...lines.slice(Math.max(first, 0)).slice(0, 80),
			...(input ? [`input, as base64: ${input}`, `again: ${again}`] : []),
		].join("\n"),
	);
}

/** Runs one target from its kept corpus on. New inputs go to `fresh`. */
async function fuzz(program, target, seconds, fresh) {
	const dictionary = join(folder, "dictionaries", `${target}.dict`);
	mkdirSync(fresh, { recursive: true });
	const { code, output } = await execute(program, [
		...["run", target, fresh, kept(target), "--"],
		...(existsSync(dictionary) ? [`-dict=${dictionary}`] : []),
		...[`-max_total_time=${seconds}`, "-timeout=30", "-rss_limit_mb=2048"],
		// Long inputs early: short ones hardly reach past the first field.
		...["-len_control=20", "-max_len=2048", "-print_final_stats=1"],
	]);
	if (code !== 0) throw finding(target, output);
	return statistics(output);
}

export async function run({ short, log }) {
	const program = await build(log);
	const seconds = short ? SECONDS.short : SECONDS.full;
	// A short run begins with the same inputs every time.
	const scratch = mkdtempSync(join(tmpdir(), "fuzz-"));
	const queue = Object.entries(TARGETS);
	const rows = new Map();
	const findings = [];
	async function one(target, what) {
		log(`${target}: ${seconds} seconds`);
		const fresh = short ? join(scratch, target) : grown(target);
		const found = await fuzz(program, target, seconds, fresh);
		const covered = `${count(found.edges)} edges and ${count(found.features)} features`;
		const tried = `${count(found.executed)} inputs in ${seconds} s; ${count(found.inputs)} cover ${covered}`;
		log(`${target}: ${tried}`);
		rows.set(target, { what, tried, found: "no difference" });
	}
	async function lane() {
		for (let next = queue.shift(); next; next = queue.shift())
			await one(...next).catch((error) => findings.push(error.message));
	}
	try {
		await Promise.all(Array.from({ length: availableParallelism() }, lane));
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
	if (findings.length > 0) throw new Error(findings.join("\n\n"));
	return Object.keys(TARGETS).map((target) => rows.get(target));
}

await main(import.meta.url, { title, run });
