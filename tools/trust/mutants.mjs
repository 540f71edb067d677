/** Whether the tests notice when the rules of scoring are changed. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt, root } from "../lib/run.mjs";
import { seedOfRun } from "./lib/draw.mjs";
import { main } from "./lib/main.mjs";
import { RULES, SCORING, targetFolder, tool } from "./lib/rust.mjs";

export const title = "Mutation testing";

/** Which mutants have no effect, and why. */
const CONFIG = fileURLToPath(new URL("mutants/mutants.toml", import.meta.url));

/** The short mode runs one of so many shards. */
const SHARDS = 40;

/** The tests take a few seconds; a mutant that takes this long is an endless loop. */
const TIMEOUT_S = 60;

/** The source files of the rules. */
const files = RULES.flatMap((name) => {
	const path = `crates/scoring/src/${name}`;
	const isFile = existsSync(join(root, `${path}.rs`));
	return ["--file", isFile ? `${path}.rs` : `${path}/**`];
});

export async function run({ short, log }) {
	const results = targetFolder("mutants");
	mkdirSync(results, { recursive: true });
	const seed = seedOfRun();
	const shard = short ? ["--shard", `${seed % SHARDS}/${SHARDS}`] : [];
	if (short) log(`mutants: seed ${seed}`);
	// It changes a temporary copy, which it builds there.
	const args = [
		...["mutants", "--package", SCORING, "--no-shuffle"],
		...["--config", CONFIG, "--output", results],
		...["--timeout", String(TIMEOUT_S), ...shard, ...files],
		...["--cargo-test-arg=--lib", "--cargo-test-arg=--tests"],
	];
	const env = { ...process.env, CARGO_PROFILE_TEST_DEBUG: "false" };
	const { code, output } = attempt(tool("cargo-mutants"), args, { env });
	// 3: tests ran into the time limit with one of them. So it was noticed.
	if (code !== 0 && code !== 3)
		throw new Error(`cargo-mutants ${shard.join(" ")}: ${code}\n${output}`);
	const outcomes = join(results, "mutants.out/outcomes.json");
	const counts = JSON.parse(readFileSync(outcomes, "utf8"));
	const { total_mutants: all, caught, timeout, unviable } = counts;
	if (caught + timeout + unviable !== all)
		throw new Error(
			`of ${all} mutants, tests noticed only ${caught + timeout}, and ${unviable} do not compile\n${output}`,
		);
	const excused = readFileSync(CONFIG, "utf8").match(/^\t'/gm)?.length ?? 0;
	return [
		{
			what: `changed operators, conditions and results in ${RULES.join(", ")}`,
			tried: `${caught + timeout} mutants that compile, of ${all}`,
			found: `each makes a test fail (${timeout} of them by a timeout); ${excused} that have no effect are listed with the reason`,
		},
	];
}

await main(import.meta.url, { title, run });
