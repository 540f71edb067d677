/**
 * Installs the tarballs of a folder into an empty project and scores traces with the real model:
 * node tools/smoke.mjs [FOLDER]. Needs nothing but Node.js and npm.
 */
import {
	copyFileSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { files, read } from "../__test__/support/trace-files.mjs";
import { traces } from "../examples/traces.mjs";
import { platformName } from "./lib/build.mjs";
import { fail, npm, root, run } from "./lib/run.mjs";

/** Tolerance of scores against those of the TypeScript SDK and of the oracle. */
const TOLERANCE = 1e-4;

/** The tarballs of the main package and of a platform; ends the process where one is missing. */
function tarballs(dist, platform) {
	const all = readdirSync(dist);
	return [/^knowledgepulse-scoring-\d/, `scoring-${platform}-`].map((part) => {
		const found = all.filter((name) => name.match(part) && name.endsWith(".tgz"));
		if (found.length !== 1)
			fail(
				`${dist}: expected one tarball of ${part}, found ${found.length}: npm run package makes it`,
			);
		return resolve(dist, found[0]);
	});
}

/**
 * Installs both into an empty project without scripts, even for another system. Returns the folder,
 * which is removed when the process ends.
 */
export function install(dist, platform) {
	const folder = mkdtempSync(join(tmpdir(), "kp-smoke-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
	// The platform package is named here, and may be another system's; npm would look for the others, which may not be
	// published yet.
	const options = "--ignore-scripts --no-audit --no-fund --omit=optional --force --loglevel=error";
	npm(["install", ...options.split(" "), ...tarballs(dist, platform)], { cwd: folder });
	copyFileSync(join(root, "tools", "smoke-score.mjs"), join(folder, "score.mjs"));
	return folder;
}

/** Writes the cases into a project: the examples, and the files with runs. */
export function writeCases(folder) {
	// The scores that `evaluateValue` of __test__/oracle/evaluate-value.mjs gives the examples.
	const scores = JSON.parse(readFileSync(join(root, "examples/scores.json"), "utf8"));
	const others = files.map((file) => {
		const { traces, golden } = read(file);
		return { name: basename(file, ".jsonl"), traces, scores: golden.map(({ score }) => score) };
	});
	return [{ name: "examples", traces, scores }, ...others].map((one) => {
		const file = `${one.name}.case.json`;
		writeFileSync(join(folder, file), JSON.stringify({ ...one, tolerance: TOLERANCE }));
		return file;
	});
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const folder = install(process.argv[2] ?? join(root, "dist"), platformName());
	for (const file of writeCases(folder))
		run(process.execPath, ["score.mjs", file], { cwd: folder });
}
