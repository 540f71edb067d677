/** Compiles benchmark/, whose TypeScript implementation is also the oracle of tools/trust/. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root, run } from "./run.mjs";

/** The folder of an installed package. */
export function installed(name) {
	const folder = join(root, "node_modules", name);
	if (!existsSync(folder)) fail(`${name} is missing: run npm ci`);
	return folder;
}

/** Compiles benchmark/ into benchmark/dist/. */
export function compileBenchmark(stdio = "inherit") {
	const folder = installed("typescript");
	const { bin } = JSON.parse(readFileSync(join(folder, "package.json")));
	run(process.execPath, [join(folder, bin.tsc), "-p", "benchmark"], { stdio });
}
