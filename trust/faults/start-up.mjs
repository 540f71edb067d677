/** Every model file is checked when it is loaded, in the time that a start may take. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { assertQuiet, run } from "../../__test__/lib/child.mjs";
import { modelDir, readManifest } from "../../__test__/lib/model-folder.mjs";
import { CONFIGURATIONS, environment } from "./configurations.mjs";
import { TRACES } from "./probe.mjs";

/**
 * The processor time that the first score may take, start of the process included: as much as the first
 * one of the SDK takes by the clock. Other than the clock, it says little of what else the machine does.
 */
const BUDGET_MS = 400;

/** Scores at once; the time since the start of the process, and that of the processor. */
async function firstScore({ scoring, input }) {
	await scoring.evaluateValue(input);
	const { user, system } = process.cpuUsage();
	return { clock: performance.now(), processor: (user + system) / 1000 };
}

const median = (values) =>
	values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** The first score of so many processes with each configuration. */
export async function startUp({ starts, log }) {
	const { files } = readManifest(modelDir);
	const bytes = files.reduce(
		(sum, { name }) => sum + statSync(join(modelDir, name)).size,
		0,
	);
	const rows = [];
	for (const configuration of CONFIGURATIONS) {
		const times = [];
		for (let i = 0; i < starts; i++) {
			const ended = await run(firstScore, {
				input: TRACES[0],
				env: environment(configuration),
			});
			assertQuiet(ended);
			times.push(ended.value);
		}
		const least = Math.min(...times.map(({ processor }) => processor));
		const clock = median(times.map(({ clock }) => clock));
		const what = `first score with all files checked, ${configuration.name}`;
		const found = `${clock.toFixed()} ms after the start (median), ${least.toFixed()} ms of the processor (least); ${BUDGET_MS} are allowed`;
		log(`${what}: ${found}`);
		// The least: what the machine has to do besides makes it more, not less.
		if (least > BUDGET_MS) throw new Error(`${what}: ${found}`);
		const tried = `${starts} processes, ${(bytes / 2 ** 20).toFixed()} MB of files`;
		rows.push({ what, tried, found });
	}
	return rows;
}
