/**
 * Installs the tarballs of a folder into an empty project and scores traces with the real model:
 * node tools/smoke.mjs [FOLDER]. Needs nothing but Node.js and npm.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { files, read } from "../__test__/support/trace-files.mjs";
import { traces } from "../examples/traces.mjs";
import { platformName } from "./lib/build.mjs";
import { fail, npm, root } from "./lib/run.mjs";

/** Tolerance of scores against those of the TypeScript SDK and of the oracle. */
const TOLERANCE = 1e-4;

const dist = process.argv[2] ?? join(root, "dist");

/** The tarballs of the main package and of this platform. */
const tarballs = [/^knowledgepulse-scoring-\d/, `scoring-${platformName()}-`].map((part) => {
	const found = readdirSync(dist).filter((name) => name.match(part) && name.endsWith(".tgz"));
	if (found.length !== 1)
		fail(
			`${dist}: expected one tarball of ${part}, found ${found.length}: npm run package makes it`,
		);
	return resolve(dist, found[0]);
});

const folder = mkdtempSync(join(tmpdir(), "kp-smoke-"));
process.on("exit", () => {
	// Windows does not remove an addon that is loaded.
	if (process.platform !== "win32") rmSync(folder, { recursive: true });
});
writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
// Without optional dependencies, because those on other systems may not be published yet.
const options = "--ignore-scripts --no-audit --no-fund --omit=optional --force --loglevel=error";
npm(["install", ...options.split(" "), ...tarballs], { cwd: folder });
const { Scorer } = createRequire(join(folder, "package.json"))("@knowledgepulse/scoring");

// The scores that `evaluateValue` of __test__/oracle/evaluate-value.mjs gives the examples.
const examples = JSON.parse(readFileSync(join(root, "examples/scores.json"), "utf8"));
const cases = files.map((name) => {
	const { traces, golden } = read(name);
	return { name, traces, scores: golden.map(({ score }) => score) };
});
for (const { name, traces: all, scores } of [
	{ name: "examples", traces, scores: examples },
	...cases,
]) {
	const scorer = new Scorer();
	let worst = 0;
	for (const [index, trace] of all.entries()) {
		const { score, novelty } = await scorer.explainValue(trace);
		const distance = Math.abs(score - scores[index]);
		if (novelty.reason !== null || !(distance <= TOLERANCE))
			fail(`${name}, trace ${index}: expected ${scores[index]}, got ${score}; ${novelty.reason}`);
		worst = Math.max(worst, distance);
	}
	console.log(
		`${name}: ${all.length} scores within ${worst.toExponential(1)} on ${process.platform} ${process.arch}, ${process.version}`,
	);
}
