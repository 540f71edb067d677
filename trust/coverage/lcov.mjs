/** What an LCOV file says of the sources, without their tests. */
import { existsSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** Modules that are only compiled for tests. */
const TEST_MODULE = /(^|\/)(tests|testing|\w+_tests)(\.rs$|\/)/;

/**
 * Gives `[{ file, lines, branches }]` for a crate: how often each line, and each side of each branch,
 * was reached, by its place.
 */
export function readLcov(path, crate) {
	const files = new Map();
	let current;
	for (const record of readFileSync(path, "utf8").split("\n")) {
		const at = record.indexOf(":");
		const [kind, rest] = [record.slice(0, at), record.slice(at + 1)];
		if (kind === "SF") current = fileOf(files, rest, crate);
		if (!current) continue;
		const parts = rest.split(",");
		const line = Number(parts[0]);
		if (kind === "DA" && line < current.end)
			add(current.lines, line, Number(parts[1]));
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

/** The record of a source file; none for one of tests, or outside the crate. */
function fileOf(files, path, crate) {
	const file = relative(join(crate, "src"), path).split(sep).join("/");
	if (file.startsWith("..") || TEST_MODULE.test(file)) return undefined;
	if (!files.has(file))
		files.set(file, {
			file,
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
	if (last !== lines.length - 1)
		throw new Error(`${path}: something follows the tests`);
	return at;
}
