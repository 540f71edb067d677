/** Memory, files and threads of a process that does everything for `KP_SOAK` minutes: 1, or 60 with `--long`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { missing, startForStores } from "../../packages/stores/__test__/support/postgres.mjs";
import { assertEndedWell, run } from "../support/child.mjs";
import { fit } from "./loads.mjs";

const minutes = Number(process.env.KP_SOAK ?? 1);

const SOAK = new URL("soak.mjs", import.meta.url).href;

const MIB = 2 ** 20;

/** As in leaks.test.mjs, for the sum of its loads. */
const MOST_GROWTH = 16 * MIB;

/** The share of the time in which caches and memos fill, and arenas settle. */
const WARM_UP = 0.3;

/** Runs in the child process, which has loaded it before. */
const body = async ({ input }) => {
	const { soak } = await import("./leaks/soak.mjs");
	return soak(input);
};

const skip = process.platform !== "linux" && "files and threads are counted on Linux";

test(`a process that does everything for ${minutes} minutes does not grow`, { skip }, async (t) => {
	const { server } = await startForStores({ after: (end) => t.after(end) });
	const connectionString =
		server && `postgres://postgres@/postgres?host=${encodeURIComponent(server.folder)}`;
	const ended = await run(body, {
		input: { minutes, connectionString },
		execArgv: ["--expose-gc", "--max-semi-space-size=2", "--import", SOAK],
		killAfterMs: 60_000 * (minutes + 10),
	});
	assertEndedWell(ended);
	const points = ended.value.filter(({ ms }) => ms >= WARM_UP * 60_000 * minutes);
	t.diagnostic(`${ended.value.length} rounds, PostgreSQL: ${missing ?? "used"}`);
	const lasted = points.at(-1).ms - points[0].ms;
	const grown = (of) => {
		const { slope, error } = fit(points.map((point) => [point.ms, point[of]]));
		return {
			of,
			growth: slope * lasted,
			error: error * lasted,
			first: points[0][of],
			last: points.at(-1)[of],
		};
	};
	const limits = { own: MOST_GROWTH, files: 1, threads: 1 };
	const all = Object.keys(limits).map(grown);
	for (const one of all) t.diagnostic(JSON.stringify(one));
	for (const { of, growth, error } of all)
		assert.ok(growth <= limits[of] || growth <= 3 * error, `${of} grow by ${growth} ± ${error}`);
});
