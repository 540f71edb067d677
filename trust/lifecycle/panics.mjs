/** Panics at every place of the native code that has work to do, in an addon that is built for it. */
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { assertEndedWell, run } from "../../__test__/lib/child.mjs";
import { cargo } from "../../scripts/lib/build.mjs";
import { finding } from "../lib/finding.mjs";
import { inLanes } from "../lib/lanes.mjs";
import { addon, copyOfThePackage } from "./copy.mjs";

const BOTH = ["onnxruntime", "rust"];
const OWN = ["INTERNAL", "GenericFailure"];

/** Where it panics, with which runtimes, and what a promise may reject with for that. */
const PLACES = {
	read: [BOTH, OWN],
	submit: [BOTH, OWN],
	embed: [BOTH, OWN],
	score: [BOTH, OWN],
	answer: [BOTH, OWN],
	save: [BOTH, OWN],
	deadline: [BOTH, []],
	load: [BOTH, ["EMBEDDER_UNAVAILABLE"]],
	tokenizer: [BOTH, ["EMBEDDER_UNAVAILABLE"]],
	session: [["onnxruntime"], ["EMBEDDER_UNAVAILABLE"]],
	operator: [["onnxruntime"], ["EMBEDDER_UNAVAILABLE"]],
	task: [BOTH, ["EMBEDDER_UNAVAILABLE"]],
};

async function program({ input }) {
	const { panicking } = await import("../trust/lifecycle/panicking.mjs");
	return panicking(await import(input.index), input);
}

/** A copy of the package whose addon panics when it is told to. */
function packageThatPanics() {
	const library = cargo([
		...["build", "--profile", "test", "--features", "fault-injection"],
		...["--target-dir", "target/fault-injection"],
	]);
	const copy = copyOfThePackage();
	copyFileSync(library, join(copy, addon));
	return copy;
}

async function panicAt(place, inARow, runtime, codes, index) {
	const folder = mkdtempSync(join(tmpdir(), "kp-panic-"));
	const env = {
		KNOWLEDGEPULSE_SCORING_PANIC: `${place}:${inARow}`,
		KNOWLEDGEPULSE_SCORING_RUNTIME: runtime,
		// What does not fit into the pipe at once is lost, and the panics are counted there.
		RUST_BACKTRACE: "0",
	};
	try {
		const input = { index, place, inARow, folder };
		const ended = await run(program, { input, env, preload: false });
		assertEndedWell(ended);
		const panics = ended.stderr.match(/injected at /g) ?? [];
		assert.ok(panics.length >= 1 && panics.length <= inARow, ended.stderr);
		for (const code of ended.value)
			assert.ok(codes.includes(code), `a promise rejected with ${code}`);
		if (codes === OWN) assert.equal(ended.value.length, panics.length);
		return panics.length;
	} catch (error) {
		throw finding(error, `panics: ${JSON.stringify(env)}`);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** Panics in `times` processes, each at one place. */
export async function panics({ times, log }) {
	const copy = packageThatPanics();
	const index = pathToFileURL(join(copy, "index.mjs")).href;
	const runs = BOTH.flatMap((runtime) =>
		Object.entries(PLACES)
			.filter(([, [runtimes]]) => runtimes.includes(runtime))
			.map(([place, [, codes]]) => [place, runtime, codes]),
	);
	let count = 0;
	try {
		await inLanes(times, async (at) => {
			const [place, runtime, codes] = runs[at % runs.length];
			// Later rounds panic more often in a row.
			const inARow = 1 + 2 * Math.floor(at / runs.length);
			const panicked = await panicAt(place, inARow, runtime, codes, index);
			count += panicked;
		});
	} finally {
		rmSync(copy, { recursive: true });
	}
	const places = Object.keys(PLACES).length;
	const tried = `${count} panics at ${places} places`;
	const found = "each ended one promise or none, and the engine went on";
	log(`panics: ${tried}, ${found}`);
	return [{ what: "panics in the native code", tried, found }];
}
