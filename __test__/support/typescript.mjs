/** Compiles TypeScript as a user does. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const typescript = fileURLToPath(new URL("../../node_modules/typescript", import.meta.url));

/** Compiles the modules in a folder in strict mode; returns the errors, "" if there is none. */
export function compile(folder, options) {
	const compilerOptions = { module: "nodenext", target: "es2022", strict: true, ...options };
	const config = { compilerOptions, include: ["*.mts"] };
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	const { bin } = JSON.parse(readFileSync(join(typescript, "package.json")));
	const command = [join(typescript, bin.tsc), "-p", folder];
	const { status, stdout, stderr } = spawnSync(process.execPath, command, {
		cwd: folder,
		encoding: "utf8",
	});
	return status === 0 ? "" : stdout + stderr;
}
