/** Damages one file of a model in many ways. Used in child processes. */
import {
	closeSync,
	mkdirSync,
	openSync,
	readSync,
	rmSync,
	truncateSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import {
	link,
	modelCopy,
	modelDir,
	ownCopy,
} from "../../__test__/lib/model-folder.mjs";

/** Turns one bit of a file round, in place. */
export function flip(path, at, bit) {
	const file = openSync(path, "r+");
	const byte = Buffer.alloc(1);
	readSync(file, byte, 0, 1, at);
	byte[0] ^= 1 << bit;
	writeSync(file, byte, 0, 1, at);
	closeSync(file);
}

/**
 * Gives, fault after fault, a model folder in which the file `name` has it. Each has a path of its own,
 * because a model that could be loaded is shared by all that name its folder.
 */
export function* damageOneByOne({ name, folder, faults }) {
	const damaged = ownCopy(join(folder, name), join(modelDir, name));
	for (const [i, fault] of faults.entries()) {
		const parent = join(folder, String(i));
		mkdirSync(parent);
		const copy = modelCopy(parent);
		rmSync(join(copy, name));
		link(damaged, join(copy, name));
		if (fault.kind === "flip") flip(damaged, fault.at, fault.bit);
		else truncateSync(damaged, fault.at);
		yield { fault, modelDir: copy };
		if (fault.kind === "flip") flip(damaged, fault.at, fault.bit);
		rmSync(parent, { recursive: true });
	}
}
