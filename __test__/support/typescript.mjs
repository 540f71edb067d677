/** Compiles TypeScript as a user does. */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./model-folder.mjs";

const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));
const typescript = join(packages, "typescript");

/** Compiles the modules in a folder in strict mode; returns the errors, "" if there is none. */
export function compile(folder, options, exclude = []) {
	const compilerOptions = { module: "nodenext", target: "es2022", strict: true, ...options };
	const config = { compilerOptions, include: ["*.mts", "*.ts"], exclude };
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	const { bin } = JSON.parse(readFileSync(join(typescript, "package.json")));
	const command = [join(typescript, bin.tsc), "-p", folder];
	const { status, stdout, stderr } = spawnSync(process.execPath, command, {
		cwd: folder,
		encoding: "utf8",
	});
	return status === 0 ? "" : stdout + stderr;
}

/** As {@link compile}, for modules in a folder of their own, which import packages of the checkout. */
export function compileModules(t, modules, options) {
	const folder = temporaryFolder(t);
	symlinkSync(packages, join(folder, "node_modules"), "junction");
	// The export makes everything a module.
	for (const [index, code] of modules.entries())
		writeFileSync(join(folder, `${index}.mts`), `${code}\nexport {};\n`);
	return compile(folder, { noEmit: true, ...options });
}

/** The examples in comments of documentation; `undefined` for one without a ts block. */
export const examplesIn = (text) =>
	text
		.replaceAll(/^[ \t]*(\/\*\*|\*\/|\*) ?/gm, "")
		.split(/^@/m)
		.filter((tag) => tag.startsWith("example"))
		.map((tag) => /^```ts\n([\s\S]*?)^```$/m.exec(tag)?.[1]);
