/** Files of the model and of ONNX Runtime that are cut off, or in which one bit is flipped. */

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { assertEndedWell } from "../support/child.mjs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { library, modelFolder, readManifest, temporaryFolder } from "../support/model-folder.mjs";
import { ENTRY } from "./damage.mjs";
import { CONFIGURATIONS, call, judge, rightScores, tally } from "./outcomes.mjs";

const KILL_AFTER_MS = 600_000;
const MANIFEST = "manifest.json";
const NAMES = [MANIFEST, ...readManifest(modelFolder).files.map(({ name }) => name)];

/** The files that a backend reads: the native one needs no graphs. */
const filesOf = ({ backend }) =>
	backend === "native" ? NAMES.filter((name) => !name.endsWith(".onnx")) : NAMES;

/** Yields faults in a file of `bytes` bytes. The first two cuts leave nothing, and all but one byte. */
function* faultsIn(bytes, { cuts, flips }, { below }) {
	for (let i = 0; i < cuts; i++)
		yield { kind: "cut", at: [0, bytes - 1][i] ?? below(bytes), embedder: embedderAt(i) };
	for (let i = 0; i < flips; i++)
		yield { kind: "flip", at: below(bytes), bit: below(8), embedder: embedderAt(i) };
}

const embedderAt = (i) => (i % 2 ? "required" : "auto");

for (const configuration of CONFIGURATIONS)
	for (const name of filesOf(configuration))
		test(`no damage of ${name} gives a wrong score, ${configuration.name}`, async (t) => {
			const folder = temporaryFolder(t);
			const bytes = statSync(join(modelFolder, name)).size;
			const counts = { cuts: repeats(3), flips: repeats(name === MANIFEST ? 20 : 4) };
			const faults = [...faultsIn(bytes, counts, draws(seed))];
			const right = await rightScores(configuration);
			const outcomes = tally();
			const ended = await call("scoreWithModels", {
				file: "damage.mjs",
				input: { configuration, name, folder, faults },
				execArgv: ["--expose-gc"],
				killAfterMs: KILL_AFTER_MS,
			});
			// The reason names the manifest, or a file that it lists.
			const naming = name === MANIFEST ? folder : name;
			for (const { fault, found } of ended.values)
				await repeatable(JSON.stringify(fault), () => outcomes.add(judge(found, right, naming)));
			assertEndedWell(ended);
			assert.equal(ended.values.length, faults.length);
			t.diagnostic(`${outcomes}`);
		});

test("no damage of the shipped library, or of its digest, gives a wrong score", async (t) => {
	const folder = temporaryFolder(t);
	const draw = draws(seed);
	let faults = [ENTRY, library].flatMap((file) => {
		const bytes = statSync(join(dirname(library), basename(file))).size;
		const counts = { cuts: repeats(2), flips: repeats(4) };
		return Array.from(faultsIn(bytes, counts, draw), (fault) => ({
			...fault,
			name: basename(file),
		}));
	});
	const right = await rightScores(CONFIGURATIONS[0]);
	const outcomes = tally();
	while (faults.length > 0) {
		const ended = await call("scoreWithLibraries", {
			file: "damage.mjs",
			input: { folder, faults },
			killAfterMs: KILL_AFTER_MS,
		});
		for (const { fault, found } of ended.values)
			await repeatable(JSON.stringify(fault), () => outcomes.add(judge(found, right, folder)));
		assertEndedWell(ended);
		assert.notEqual(ended.values.length, 0);
		faults = faults.slice(ended.values.length);
	}
	t.diagnostic(`${outcomes}`);
});
