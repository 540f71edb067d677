/** Damages a file of a model or of its library in many ways. Runs in child processes. */

import {
	closeSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readSync,
	rmSync,
	truncateSync,
	writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { library, modelCopy, modelFolder, ownCopy } from "../support/model-folder.mjs";
import { probeQuietly } from "./probe.mjs";

/** The file with the digest of the library, beside it. */
export const ENTRY = join(dirname(library), "onnxruntime.json");

/** Flips a bit of a file, or cuts it off. */
export function damage(path, { kind, at, bit }) {
	if (kind === "cut") return truncateSync(path, at);
	const file = openSync(path, "r+");
	const byte = Buffer.alloc(1);
	readSync(file, byte, 0, 1, at);
	byte[0] ^= 1 << bit;
	writeSync(file, byte, 0, 1, at);
	closeSync(file);
}

/**
 * Scores with each fault in the file `name` of a copy of the model. Each copy has a path of its own, because
 * scorers that name the same folder share the model.
 */
export async function scoreWithModels(scoring, { name, folder, faults, configuration }, send) {
	const { backend, precision } = configuration;
	for (const [i, fault] of faults.entries()) {
		const parent = join(folder, String(i));
		mkdirSync(parent);
		const model = modelCopy(parent);
		damage(ownCopy(join(model, name), join(modelFolder, name)), fault);
		const { embedder } = fault;
		const scorer = new scoring.Scorer({ model, backend, precision, embedder });
		send({ fault, found: await probeQuietly(scorer) });
		scorer.close();
		rmSync(parent, { recursive: true });
		// A model that could be loaded is freed before the next.
		gc();
		await turn();
	}
}

/** Scores with one damaged library after another, until one is loaded: a process can load only one. */
export async function scoreWithLibraries(scoring, { folder, faults }, send) {
	for (const [i, fault] of faults.entries()) {
		const place = mkdtempSync(join(folder, `${i}-`));
		for (const file of [library, ENTRY]) copyFileSync(file, join(place, basename(file)));
		damage(join(place, fault.name), fault);
		const scorer = new scoring.Scorer({ library: join(place, basename(library)) });
		send({ fault, found: await probeQuietly(scorer) });
		rmSync(place, { recursive: true });
		if (scorer.status().embedder.libraryVersion) return;
	}
}
