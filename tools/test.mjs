/** The whole suite: the model builder, the Rust crates, the public API. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { npx, root, run } from "./lib/run.mjs";
import { compileBenchmark } from "./lib/typescript.mjs";

const tests = readdirSync(join(root, "__test__"), { recursive: true })
	.filter((file) => file.endsWith(".test.mjs"))
	.map((file) => join("__test__", file))
	.sort();

run(python(), ["tools/assets.py", "--test"]);
run("cargo", ["test", "--quiet"]);
npx(["tsc", "--noEmit", "-p", "__test__"]);
// The TypeScript implementation is the oracle of the tests.
compileBenchmark();
// Tests start processes of their own; two files at once would disturb each other.
run(process.execPath, ["--test", "--test-concurrency=1", ...tests]);
