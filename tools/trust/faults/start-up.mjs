/** The first score, for which every model file is checked, has to be fast. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { modelFolder, readManifest } from "../../../__test__/support/model-folder.mjs";
import { valueIn } from "../lib/child.mjs";
import { CONFIGURATIONS, environment } from "./configurations.mjs";
import { TRACES } from "./probe.mjs";

/**
 * The processor time that the first score may take, start of the process included: as much as the first
 * one of the SDK takes by the clock. Unlike the clock, it hardly depends on other load on the machine.
 */
const BUDGET_MS = 400;

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** The first score of so many processes with each configuration. */
export async function startUp({ starts, log }) {
	const { files } = readManifest(modelFolder);
	const bytes = files.reduce((sum, { name }) => sum + statSync(join(modelFolder, name)).size, 0);
	const rows = [];
	for (const configuration of CONFIGURATIONS) {
		const times = [];
		for (let i = 0; i < starts; i++) {
			const options = { input: TRACES[0], env: environment(configuration) };
			times.push(await valueIn("faults/probe.mjs", "firstScore", options));
		}
		const least = Math.min(...times.map(({ processor }) => processor));
		const clock = median(times.map(({ clock }) => clock));
		const what = `first score with all files checked, ${configuration.name}`;
		const found = `${clock.toFixed()} ms after the start (median), ${least.toFixed()} ms of the processor (least); ${BUDGET_MS} are allowed`;
		log(`${what}: ${found}`);
		// The least: other load on the machine only makes it more.
		if (least > BUDGET_MS) throw new Error(`${what}: ${found}`);
		const tried = `${starts} processes, ${(bytes / 2 ** 20).toFixed()} MB of files`;
		rows.push({ what, tried, found });
	}
	return rows;
}
