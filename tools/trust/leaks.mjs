/** Memory that grows with the number of calls: a line is fitted through samples after a warm-up. */
import { assertEndedWell } from "../../__test__/support/child.mjs";
import { LOADS } from "./leaks/loads.mjs";
import { fit } from "./leaks/measure.mjs";
import { memoryGroup } from "./lib/cgroup.mjs";
import { callIn } from "./lib/child.mjs";
import { main } from "./lib/main.mjs";

export const title = "Leaks";

const MIB = 2 ** 20;
const GROUP_BYTES = 512 * MIB;
const SAMPLES = 40;

/**
 * More growth over a run is a leak, unless the load names another limit: V8 and the allocator vary by a few
 * megabytes, and 4 bytes for each of a million scores would already be more.
 */
const MOST_GROWTH = 4 * MIB;

/** Does one load in a fresh process; `group` limits its memory. */
async function flat(name, { short, log, group }) {
	const load = LOADS[name];
	const count = short ? load.short : load.count;
	// Caches of a thousand entries have to fill, and the arenas of the allocators to settle.
	const warmUp = Math.ceil(count * (short ? 1.5 : 0.5));
	const ended = await callIn("leaks/measure.mjs", "measure", {
		input: { name, warmUp, count, samples: SAMPLES },
		env: load.env,
		// The young generation of V8 grows at its own pace, by more than a leak would.
		execArgv: ["--expose-gc", "--max-semi-space-size=2"],
		under: group?.under,
		killAfterMs: 1_200_000,
	});
	const points = ended.value;
	assertEndedWell(ended);
	const { slope, error } = fit(points.map(({ done, own }) => [done, own]));
	const growth = slope * count;
	const where = group ? `, in ${GROUP_BYTES / MIB} MB` : "";
	const [first, last] = [points[0], points.at(-1)].map(
		({ resident }) => `${(resident / MIB).toFixed(1)} MB`,
	);
	const found =
		`${slope.toFixed(2)} ± ${error.toFixed(2)} bytes each, ` +
		`${(growth / MIB).toFixed(2)} MB in all (resident, with mapped files: ${first} at first, ${last} at last)` +
		(group ? `, peak of the group ${(group.peak() / MIB).toFixed()} MB` : "");
	log(`${name}${where}, ${count.toLocaleString("en")} times: ${found}`);
	if (growth > (load.mostGrowth ?? MOST_GROWTH) && slope > 3 * error)
		throw new Error(`${name}${where}: memory grows by ${found}`);
	return { what: name + where, tried: count.toLocaleString("en"), found };
}

export async function run({ short, log }) {
	const rows = [];
	for (const name of Object.keys(LOADS)) rows.push(await flat(name, { short, log }));
	// In short, the limit is left to the full run.
	const limited = Object.keys(LOADS).filter((name) => LOADS[name].inGroup && !short);
	for (const name of limited) {
		const group = memoryGroup(GROUP_BYTES);
		if (!group) {
			const found = "no control group can be made";
			rows.push({
				what: `${name}, in 512 MB`,
				tried: "not available here",
				found,
			});
			continue;
		}
		try {
			rows.push(await flat(name, { short, log, group }));
		} finally {
			group.remove();
		}
	}
	return rows;
}

await main(import.meta.url, { title, run });
