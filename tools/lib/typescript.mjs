/** The TypeScript compiler. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** The command that type-checks what a folder's tsconfig.json names. */
export function compile(folder) {
	const typescript = join(root, "node_modules/typescript");
	const { bin } = JSON.parse(readFileSync(join(typescript, "package.json")));
	return [process.execPath, join(typescript, bin.tsc), "-p", folder];
}
