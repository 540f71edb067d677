/** The addon in Node.js with AddressSanitizer, under the tests of the public API. */
import {
	copyFileSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
} from "node:fs";
import { join } from "node:path";
import { cargo } from "../../scripts/lib/build.mjs";
import { checkoutWith } from "../lib/checkout.mjs";
import { attempt, execute, targetFolder } from "../lib/rust.mjs";

/**
 * The runtime of the sanitizer as a library that can be preloaded, since Node.js itself has none in it.
 * The compiler brings only an archive, made for programs.
 */
function runtimeLibrary(folder, target) {
	const sysroot = execute("rustc", ["--print", "sysroot"]).trim();
	const libraries = join(sysroot, "lib/rustlib", target, "lib");
	const name = readdirSync(libraries).find((name) =>
		/_rt\.asan\.a$/.test(name),
	);
	if (!name) throw new Error(`no AddressSanitizer in ${libraries}`);
	const archive = join(folder, "runtime.a");
	copyFileSync(join(libraries, name), archive);
	// What runs before `main` of a program cannot be in a library; loading initialises it as well.
	execute("ar", ["d", archive, "asan_preinit.cpp.o"]);
	// Under a name of its own: it refuses to be beside what is called libasan.
	const library = join(folder, "sanitizer.so");
	execute("cc", [
		...["-shared", "-o", library],
		...["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"],
		...["-ldl", "-lpthread", "-lm", "-lrt"],
	]);
	return library;
}

/**
 * Chapters that do not run here: transformers.js does not load through the link that node_modules is
 * in the copy, and cargo does not start beside a preloaded sanitizer.
 */
const LEFT_OUT = /^(10|14)\./;

/** Every access of the addon to memory, in all chapters, or in the first ten of them. */
export function addon({ short, log, target, env }) {
	const what = "AddressSanitizer in Node.js";
	const folder = targetFolder("sanitizers-node");
	const logs = join(folder, "logs");
	rmSync(logs, { recursive: true, force: true });
	mkdirSync(logs, { recursive: true });
	const library = cargo(
		["build", "--lib", "--profile", "test", "--target", target],
		{ ...process.env, ...env },
	);
	const checkout = checkoutWith(library, "sanitizers-node/checkout");
	const chapters = readdirSync(join(checkout, "__test__"))
		.filter((name) => name.endsWith(".test.mjs") && !LEFT_OUT.test(name))
		.slice(0, short ? 10 : undefined)
		.map((name) => `__test__/${name}`);
	const { output } = attempt(
		process.execPath,
		["--test", "--test-concurrency=1", ...chapters],
		{
			cwd: checkout,
			env: {
				...process.env,
				LD_PRELOAD: runtimeLibrary(folder, target),
				// Node.js frees little when it ends. Reports of every process go into files.
				ASAN_OPTIONS: `${env.ASAN_OPTIONS}:detect_leaks=0:log_path=${join(logs, "report")}`,
			},
		},
	);
	for (const report of readdirSync(logs))
		throw new Error(readFileSync(join(logs, report), "utf8"));
	const [, passed] = /^# pass (\d+)$/m.exec(output) ?? [];
	if (!(passed > 0)) throw new Error(`no test has passed\n${output}`);
	// It takes memory and time, which some tests limit. Whether they pass is known from `npm test`.
	for (const [, name] of output.matchAll(/^ *not ok \d+ - (.*)$/gm))
		log(`${what}: fails beside it: ${name}`);
	const tried = `${passed} tests of the public API`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error" };
}
