/** The whole suite: the model builder, the Rust crates, the public API. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { browser } from "./lib/browser.mjs";
import { python } from "./lib/build.mjs";
import { npx, root, run } from "./lib/run.mjs";
import { compileBenchmark } from "./lib/typescript.mjs";

/** The folders of tests: that of the main package, and those of the others. */
const folders = [
	"__test__",
	...readdirSync(join(root, "packages")).map((name) => join("packages", name, "__test__")),
].filter((folder) => existsSync(join(root, folder)));

const tests = folders.flatMap((folder) =>
	readdirSync(join(root, folder), { recursive: true })
		.filter((file) => file.endsWith(".test.mjs"))
		.map((file) => join(folder, file))
		.sort(),
);

run(python(), ["tools/assets.py", "--test"]);
run("cargo", ["test", "--quiet"]);
run(python(), ["tools/assets.py", "--reference"]);
npx(["tsc", "--noEmit", "-p", "__test__"]);
// The TypeScript implementation is the oracle of the tests.
compileBenchmark();
// Without one, the tests that need it are skipped.
process.env.KNOWLEDGEPULSE_BROWSER = browser() ?? "";
// Tests start processes of their own; two files at once would disturb each other.
run(process.execPath, [
	"--test",
	"--test-concurrency=1",
	// Names what failed at the end, where it is seen in a log that was cut.
	"--test-reporter=spec",
	...tests,
]);
