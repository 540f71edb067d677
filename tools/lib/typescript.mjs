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

/** The command that type-checks and compiles what a folder's tsconfig.json says. */
export function compile(folder) {
	const typescript = installed("typescript");
	const { bin } = JSON.parse(readFileSync(join(typescript, "package.json")));
	return [process.execPath, join(typescript, bin.tsc), "-p", folder];
}

/** Compiles benchmark/ into benchmark/dist/. */
export function compileBenchmark(stdio = "inherit") {
	const [node, ...args] = compile("benchmark");
	run(node, args, { stdio });
}
