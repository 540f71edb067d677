/**
 * Scores traces with the packages in dist/ on systems that this machine can run or emulate: Linux
 * on arm64 (QEMU), musl, Windows (Wine). Needs Linux x64 with Debian's package tools, and a user who
 * may make namespaces: node tools/systems.mjs [--whole] [PLATFORM ...]
 *
 * Emulated arm64 takes half a minute for a long trace, so a hundred of them are left out unless
 * --whole is given.
 */
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { attempt, fail, root } from "./lib/run.mjs";
import { install, writeCases } from "./smoke/project.mjs";
import { SYSTEMS } from "./systems/systems.mjs";

if (process.platform !== "linux" || process.arch !== "x64")
	fail(`this runs on Linux x64, not on ${process.platform} ${process.arch}`);
const names = process.argv.slice(2).filter((name) => name !== "--whole");
const isWhole = process.argv.includes("--whole");
/** The largest case that an emulated processor is given, in bytes. */
const FEW = 500_000;
for (const name of names)
	if (!(name in SYSTEMS)) fail(`no system ${name}: there are ${Object.keys(SYSTEMS).join(", ")}`);

/** Runs a command with its output in a file: on Wine, Node.js cannot write to a pipe. Returns its exit code. */
function runInto(file, [command, ...args], cwd) {
	const output = openSync(file, "w");
	const stdio = ["ignore", output, output];
	const { code } = attempt(command, args, { cwd, stdio });
	closeSync(output);
	process.stdout.write(readFileSync(file, "utf8"));
	return code;
}

let failed = 0;
let passed = 0;
for (const [name, prepare] of Object.entries(SYSTEMS)) {
	if (names.length > 0 && !names.includes(name)) continue;
	const start = prepare();
	const project = install(join(root, "dist"), name);
	for (const file of writeCases(project)) {
		const { size } = statSync(join(project, file));
		if (name.includes("arm64") && size > FEW && !isWhole) {
			console.log(`systems: ${name}: ${file} left out: give --whole`);
			continue;
		}
		console.log(`systems: ${name}: ${file}`);
		const command = start(project, "score.mjs", file);
		const code = runInto(join(project, "output.txt"), command, project);
		if (code === 0) passed += 1;
		else {
			failed += 1;
			console.error(`systems: ${name}: ${file} failed (${code})`);
		}
	}
}
console.log(`systems: ${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
