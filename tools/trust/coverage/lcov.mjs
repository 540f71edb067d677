/** Reads an LCOV file: what it says of the sources, without their tests. */
import { existsSync, readFileSync } from "node:fs";
import { relative, sep } from "node:path";

/** A source file of a crate: the addon is at the top, the others are in `crates`. */
const SOURCE = /^(?:crates\/([\w-]+)\/)?src\/(\w+)/;
/** Modules that are only compiled for tests, and the crate that helps these. */
const TESTS = /\/(tests|testing|\w+_tests)(\.rs$|\/)|^crates\/test-support\//;

/**
 * Returns `[{ file, crate, module, lines, branches }]`: how often each line, and each way out of each
 * branch, was reached, by its place. `file` is relative to the folder `top`.
 */
export function readLcov(path, top) {
	const files = new Map();
	let current;
	for (const record of readFileSync(path, "utf8").split("\n")) {
		const at = record.indexOf(":");
		const [kind, rest] = [record.slice(0, at), record.slice(at + 1)];
		if (kind === "SF") current = fileOf(files, rest, top);
		if (!current) continue;
		const parts = rest.split(",");
		const line = Number(parts[0]);
		if (kind === "DA" && line < current.end) add(current.lines, line, Number(parts[1]));
		if (kind === "BRDA" && line < current.end) {
			const taken = parts[3] === "-" ? 0 : Number(parts[3]);
			add(current.branches, parts.slice(0, 3).join(":"), taken);
		}
	}
	return [...files.values()];
}

function add(counts, place, count) {
	counts.set(place, (counts.get(place) ?? 0) + count);
}

/** The record of a source file; none for one of tests, or outside the crates. */
function fileOf(files, path, top) {
	const file = relative(top, path).split(sep).join("/");
	const [matches, crate = "addon", module] = SOURCE.exec(file) ?? [];
	if (!matches || TESTS.test(file)) return undefined;
	if (!files.has(file))
		files.set(file, {
			...{ file, crate, module },
			end: firstTestLine(path),
			lines: new Map(),
			branches: new Map(),
		});
	return files.get(file);
}

/** The tests of a module, where it has some, are the last thing in it. */
function firstTestLine(path) {
	if (!existsSync(path)) throw new Error(`${path} is covered, but missing`);
	const source = readFileSync(path, "utf8");
	const lines = source.trimEnd().split("\n");
	const at = lines.findIndex(
		(line, index) => lines[index - 1] === "#[cfg(test)]" && line.endsWith("{"),
	);
	if (at < 0) return Number.POSITIVE_INFINITY;
	const last = lines.findIndex((line, index) => index > at && line === "}");
	if (last !== lines.length - 1) throw new Error(`${path}: something follows the tests`);
	return at;
}
