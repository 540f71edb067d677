/** Damages one file of a model in many ways. Used in child processes. */
import { closeSync, mkdirSync, openSync, readSync, rmSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { link, modelCopy, modelFolder, ownCopy } from "../../../__test__/support/model-folder.mjs";
import { probeQuietly, TRACES } from "./probe.mjs";

/** Flips one bit of a file, in place. */
export function flip(path, at, bit) {
	const file = openSync(path, "r+");
	const byte = Buffer.alloc(1);
	readSync(file, byte, 0, 1, at);
	byte[0] ^= 1 << bit;
	writeSync(file, byte, 0, 1, at);
	closeSync(file);
}

/**
 * Yields a model folder for each fault, in which the file `name` has it. Each has a path of its own, because
 * all scorers that name the same folder share the model.
 */
function* damageOneByOne({ name, folder, faults }) {
	const damaged = ownCopy(join(folder, name), join(modelFolder, name));
	for (const [i, fault] of faults.entries()) {
		const parent = join(folder, String(i));
		mkdirSync(parent);
		const copy = modelCopy(parent);
		rmSync(join(copy, name));
		link(damaged, join(copy, name));
		if (fault.kind === "flip") flip(damaged, fault.at, fault.bit);
		else truncateSync(damaged, fault.at);
		yield { fault, model: copy };
		if (fault.kind === "flip") flip(damaged, fault.at, fault.bit);
		rmSync(parent, { recursive: true });
	}
}

/** Scores with each of the damaged folders. */
export async function scoreDamaged(scoring, input, send) {
	const { backend, precision } = input.configuration;
	for (const { fault, model } of damageOneByOne(input)) {
		const { embedder } = fault;
		const options = { model, backend, precision, embedder };
		const scorer = new scoring.Scorer(options);
		send({ fault, found: await probeQuietly(scorer, TRACES) });
		scorer.close();
		// A model that could be loaded is freed before the next.
		gc();
		await turn();
	}
}
