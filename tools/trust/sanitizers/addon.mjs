/** The addon in Node.js with AddressSanitizer, under the tests of the public API. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cargo } from "../../lib/build.mjs";
import { testPublicApi } from "../lib/public-api.mjs";
import { outputOf, targetFolder } from "../lib/rust.mjs";

/**
 * The runtime of the sanitizer as a library that can be preloaded, since Node.js itself has none in it.
 * The compiler comes with an archive only, made for programs.
 */
function runtimeLibrary(folder, target) {
	const sysroot = outputOf("rustc", ["--print", "sysroot"]).trim();
	const libraries = join(sysroot, "lib/rustlib", target, "lib");
	const name = readdirSync(libraries).find((name) => /_rt\.asan\.a$/.test(name));
	if (!name) throw new Error(`no AddressSanitizer in ${libraries}`);
	const archive = join(folder, "runtime.a");
	copyFileSync(join(libraries, name), archive);
	// What runs before `main` of a program cannot be in a library; loading initialises it as well.
	outputOf("ar", ["d", archive, "asan_preinit.cpp.o"]);
	// The sanitizer refuses to be loaded beside a library that is called libasan.
	const library = join(folder, "sanitizer.so");
	outputOf("cc", [
		...["-shared", "-o", library],
		...["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"],
		...["-ldl", "-lpthread", "-lm", "-lrt"],
	]);
	return library;
}

/**
 * Tests that do not run here: transformers.js does not load through the link that node_modules is in the
 * copy, and cargo does not start beside a preloaded sanitizer.
 */
const LEAVE_OUT = /neighbours|tokens/;

/** Checks every memory access of the addon in all test files, or in the first ten of them. */
export async function addon({ short, log, target, env }) {
	const what = "AddressSanitizer in Node.js";
	const name = "sanitizers-node";
	const logs = join(targetFolder(name), "logs");
	rmSync(logs, { recursive: true, force: true });
	mkdirSync(logs, { recursive: true });
	const passed = testPublicApi({
		name: `${name}/checkout`,
		library: await cargo(
			"addon with AddressSanitizer",
			["build", "--lib", "--profile", "test", "--target", target],
			{ ...process.env, ...env },
		),
		leaveOut: LEAVE_OUT,
		most: short ? 10 : undefined,
		env: {
			LD_PRELOAD: runtimeLibrary(targetFolder(name), target),
			// Node.js frees little when it ends. Reports of all processes go into files.
			ASAN_OPTIONS: `${env.ASAN_OPTIONS}:detect_leaks=0:log_path=${join(logs, "report")}`,
		},
		log: (line) => log(`${what}: ${line}`),
	});
	for (const report of readdirSync(logs)) throw new Error(readFileSync(join(logs, report), "utf8"));
	const tried = `${passed} tests of the public API`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error" };
}
