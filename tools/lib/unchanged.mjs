/**
 * Parts of the checks that read nothing but the Rust side: they are not run again while nothing of it has changed since
 * they passed. `KP_WHOLE=1` runs all, as the workflows do, which keep no cache.
 */
import { createHash } from "node:crypto";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { cacheFolder } from "./cache.mjs";
import { capture, filesBelow, root } from "./run.mjs";

/** What the Rust side does not read; everything else it may. */
const OTHERS = [
	...[".github", "benchmark", "docs", "examples", "index.d.ts", "index.js", "lib", "packages"],
	...["**/*.md", "__test__/**/*.mjs", "__test__/**/*.ts", "__test__/**/*.cjs"],
];

/** As pathspecs of Git, from the top folder. */
export const RUST_SIDE = [":/", ...OTHERS.map((path) => `:(top,glob,exclude)${path}`)];

/** A digest of what the Rust side reads, with compiler, its settings, processor and recordings; undefined if it is not committed. */
function digest() {
	if (process.env.KP_WHOLE || process.env.KP_TRUST > 1) return undefined;
	if (capture("git", ["status", "--porcelain", "--", ...RUST_SIDE])?.trim() !== "")
		return undefined;
	const tree = capture("git", ["ls-files", "--stage", "--", ...RUST_SIDE]);
	const settings = Object.entries(process.env).filter(([name]) => /^(CARGO_|RUST)/.test(name));
	const hash = createHash("sha256").update(
		JSON.stringify([tree, capture("rustc", ["-vV"]), settings, cpus()[0].model]),
	);
	if (existsSync(join(root, "../shared")))
		for (const file of filesBelow("../shared", ""))
			if (/\.(?!md)\w+$/.test(file))
				hash.update(`${file}\0`).update(readFileSync(join(root, file)));
	return hash.digest("hex").slice(0, 24);
}

let known;

/** The digest of the Rust side when it was first asked for; undefined if parts must run. */
function rustSide() {
	known ??= { digest: digest() };
	return known.digest;
}

/** Runs `work` unless the part has passed with what the Rust side has now; then says so. */
export async function unlessPassed(part, work) {
	const digest = rustSide();
	const mark = join(cacheFolder(), "passed", `${digest}-${part.replaceAll(/\W+/g, "-")}`);
	if (digest && existsSync(mark))
		return console.log(`        ${part}: passed before, and nothing that it reads has changed`);
	await work();
	if (!digest) return;
	mkdirSync(dirname(mark), { recursive: true });
	writeFileSync(mark, "");
}

/** The file that `build` makes of the Rust side, the last one of that name; built only if that has changed. */
export async function kept(name, build) {
	const digest = rustSide();
	if (!digest) return build();
	const folder = join(cacheFolder(), name);
	const file = join(folder, digest);
	if (existsSync(file)) return file;
	const made = await build();
	mkdirSync(folder, { recursive: true });
	for (const other of readdirSync(folder)) rmSync(join(folder, other));
	copyFileSync(made, `${file}.${process.pid}`);
	renameSync(`${file}.${process.pid}`, file);
	return file;
}
