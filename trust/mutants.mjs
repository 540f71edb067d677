/** Whether the tests notice when the rules of scoring are changed. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LEAVES, writeLeaves } from "./lib/leaves.mjs";
import { main } from "./lib/main.mjs";
import { attempt, execute, targetFolder, tool } from "./lib/rust.mjs";

export const title = "Mutation testing";

/** Which mutants change nothing that can be seen, and why. */
const CONFIG = fileURLToPath(new URL("mutants/mutants.toml", import.meta.url));

/** Of so many shards, the short mode does one, whichever the dice say. */
const SHARDS = 40;

/** Tests take a second; a mutant that takes as long as this runs forever. */
const TIMEOUT_S = 20;

/** All source files of the leaves, for cargo-mutants. */
const files = (crate) =>
	LEAVES.flatMap((name) => {
		const isFile = existsSync(join(crate, `src/${name}.rs`));
		return ["--file", isFile ? `src/${name}.rs` : `src/${name}/**`];
	});

export async function run({ short, log }) {
	const crate = writeLeaves("mutants/crate");
	const results = targetFolder("mutants/results");
	mkdirSync(results, { recursive: true });
	const shard = `${Math.floor(Math.random() * SHARDS)}/${SHARDS}`;
	const shards = short ? ["--shard", shard] : [];
	if (short) log(`mutants: shard ${shard}`);
	const env = {
		...process.env,
		CARGO_TARGET_DIR: targetFolder("mutants/build"),
	};
	// An interrupted run leaves what it made of a mutant.
	execute("cargo", ["clean", "--package", "knowledgepulse-scoring"], {
		env,
		cwd: crate,
	});
	const args = [
		...["mutants", "--dir", crate, "--in-place", "--no-shuffle"],
		...["--config", CONFIG, "--output", results],
		...["--timeout", String(TIMEOUT_S), ...shards, ...files(crate)],
		...["--cargo-test-arg=--lib", "--cargo-test-arg=--tests"],
	];
	const { code, output } = attempt(tool("cargo-mutants"), args, { env });
	// 3: tests ran into the time limit with one of them. So it was noticed.
	if (code !== 0 && code !== 3)
		throw new Error(`cargo-mutants ${shards.join(" ")}: ${code}\n${output}`);
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
			what: `changed operators, conditions and results in ${LEAVES.join(", ")}`,
			tried: `${caught + timeout} mutants that compile, of ${all}`,
			found: `each makes a test fail (${timeout} of them never end); ${excused} that change nothing are listed with the reason`,
		},
	];
}

await main(import.meta.url, { title, run });
