/**
 * Damaged or missing files and exhausted resources: they have to end in a typed error or in scores without the
 * embedder. `--seed N` repeats a run.
 */
import { CONFIGURATIONS } from "./faults/configurations.mjs";
import { noDescriptors, noMoreThreads } from "./faults/exhausted.mjs";
import { namedLibraries, oldLibraries, shippedLibrary } from "./faults/libraries.mjs";
import { fewDescriptors, fewThreads, littleMemory, littleMemoryInGroup } from "./faults/limits.mjs";
import { damagedModels } from "./faults/model-files.mjs";
import { startUp } from "./faults/start-up.mjs";
import { systems } from "./faults/systems.mjs";
import { draws, seedOfRun } from "./lib/draw.mjs";
import { finding } from "./lib/finding.mjs";
import { main } from "./lib/main.mjs";

export const title = "Faults";

const FULL = {
	files: { cuts: 100, flips: 200, manifestFlips: 400 },
	library: { cuts: 20, flips: 60 },
	starts: 21,
	leastLeft: 12,
	steps: { descriptors: 1, threads: 1, memory: 2, group: 4 },
};

const SHORT = {
	files: { cuts: 14, flips: 21, manifestFlips: 20 },
	library: { cuts: 4, flips: 8 },
	starts: 3,
	leastLeft: 2,
	steps: { descriptors: 6, threads: 4, memory: 32, group: 64 },
};

export async function run({ short, log }) {
	const seed = seedOfRun();
	const { files, library, starts, leastLeft, steps } = short ? SHORT : FULL;
	log(`seed ${seed}`);
	const draw = draws(seed);
	try {
		const rows = [
			...(await damagedModels({ ...files, draw, log })),
			await shippedLibrary({ ...library, draw, log }),
			...(await namedLibraries({ log })),
			await oldLibraries({ log }),
			...(await systems({ log })),
			...(await startUp({ starts, log })),
		];
		for (const configuration of CONFIGURATIONS) {
			rows.push(
				await noDescriptors(configuration, leastLeft, log),
				await fewDescriptors(configuration, steps.descriptors, log),
				await fewThreads(configuration, steps.threads, log),
				await noMoreThreads(configuration, log),
				await littleMemory(configuration, steps.memory, log),
				await littleMemoryInGroup(configuration, steps.group, log),
			);
		}
		return rows;
	} catch (error) {
		throw finding(error, `--seed ${seed}`);
	}
}

await main(import.meta.url, { title, run });
