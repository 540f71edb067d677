/** The whole suite: the model builder, the Rust core, the public API. */
import { readdirSync } from "node:fs";
import { python } from "./lib/build.mjs";
import { root, run } from "./lib/run.mjs";

run(python(), ["scripts/assets.py", "--test"]);
run("cargo", ["test", "--quiet"]);
run("npx", ["tsc", "--noEmit", "-p", "__test__"]);
const chapters = readdirSync(`${root}/__test__`)
	.filter((name) => name.endsWith(".test.mjs"))
	.sort();
run(process.execPath, [
	// Chapters start processes of their own; two at once would disturb each other.
	...["--test", "--test-concurrency=1"],
	...chapters.map((name) => `__test__/${name}`),
]);
