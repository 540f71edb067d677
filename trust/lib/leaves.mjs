/** A crate of the leaves of the core alone, which builds in a fraction of the time of the whole. */
import {
	cpSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/run.mjs";
import { targetFolder } from "./rust.mjs";

/** The modules whose every branch, and every change, the tests are to notice. */
export const LEAVES = ["cache", "dimensions", "overrides", "trace", "weights"];

/** What the leaves and their tests need besides. */
const NEEDED = ["error", "score"];
const OF_THE_EMBEDDER = ["chars", "chars_tests", "text", "window"];
const TESTS = ["score", "trace"];
const DEPENDENCIES = [
	...["once_cell", "pulp", "serde_json"],
	...["unicode-normalization", "unicode-properties"],
];

/** Writes the crate into `target/<name>`, from the sources as they are; gives its folder. */
export function writeLeaves(name) {
	const folder = targetFolder(name);
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(join(folder, "src/embedder"), { recursive: true });
	const copy = (path) =>
		cpSync(join(root, path), join(folder, path), { recursive: true });
	const modules = [...LEAVES, ...NEEDED];
	for (const entry of readdirSync(join(root, "src")))
		if (modules.includes(entry.replace(".rs", ""))) copy(`src/${entry}`);
	for (const file of OF_THE_EMBEDDER) copy(`src/embedder/${file}.rs`);
	for (const file of TESTS) copy(`tests/${file}.rs`);
	copy("Cargo.lock");
	const lib = [...modules, "embedder"].map((module) => `pub mod ${module};\n`);
	writeFileSync(join(folder, "src/lib.rs"), lib.join(""));
	writeFileSync(join(folder, "src/embedder/mod.rs"), embedder());
	writeFileSync(join(folder, "Cargo.toml"), manifest());
	return folder;
}

/** The root of the embedder, without what is not there. */
function embedder() {
	const whole = readFileSync(join(root, "src/embedder/mod.rs"), "utf8");
	const kept =
		/^(mod (chars|text|window)|pub use (text|window)::.*|pub const MAX_TOKENS: .*);$/gm;
	return whole.match(kept).join("\n");
}

/** Versions as the whole crate has them. */
function manifest() {
	const whole = readFileSync(join(root, "Cargo.toml"), "utf8");
	const line = (name) => {
		const found = whole.match(new RegExp(`^${name} = .*$`, "m"));
		if (!found) throw new Error(`Cargo.toml names no ${name}`);
		return found[0];
	};
	return `[package]
${["name", "version", "edition"].map(line).join("\n")}

[dependencies]
${DEPENDENCIES.map(line).join("\n")}

[dev-dependencies]
${line("proptest")}

[profile.test]
debug = false
opt-level = 1

[workspace]
`;
}
