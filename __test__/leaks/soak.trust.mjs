/** Memory, files and threads of a process that does everything for `KP_SOAK` minutes: 1, or 60 with `--long`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { missing, startForStores } from "../../packages/stores/__test__/support/postgres.mjs";
import { assertEndedWell, run } from "../support/child.mjs";

const minutes = Number(process.env.KP_SOAK ?? 1);

const SOAK = new URL("soak.mjs", import.meta.url).href;

const MIB = 2 ** 20;

/** As in leaks.alone.test.mjs. In an hour of 1,200 rounds it is reached by 10 kB a round, 6 bytes a call. */
const MOST_GROWTH = 4 * MIB;

/** The share of the rounds in which caches and memos fill, and arenas settle. */
const WARM_UP = 0.3;

/**
 * The growth of the peaks from the first half of some rounds to the second one. A leak raises every peak. What the allocator gives
 * back, up to 5 MB now and then, and takes again looks like growth to a line through all rounds, but leaves the peaks alone.
 */
function growthOf(values) {
	const half = Math.floor(values.length / 2);
	const [before, after] = [values.slice(0, half), values.slice(half)].map((some) =>
		Math.max(...some),
	);
	return { before, after, growth: after - before };
}

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
		// With an arena for each thread, what glibc keeps adds up for much longer: to 55 MB, and with one to 38 MB.
		env: { MALLOC_ARENA_MAX: "1" },
		execArgv: ["--expose-gc", "--max-semi-space-size=2", "--import", SOAK],
		killAfterMs: 60_000 * (minutes + 10),
	});
	assertEndedWell(ended);
	const points = ended.value.slice(Math.ceil(WARM_UP * ended.value.length));
	t.diagnostic(`${ended.value.length} rounds, PostgreSQL: ${missing ?? "used"}`);
	const limits = { own: MOST_GROWTH, files: 1, threads: 1 };
	const all = Object.keys(limits).map((of) => ({ of, ...growthOf(points.map((one) => one[of])) }));
	for (const one of all) t.diagnostic(JSON.stringify(one));
	for (const { of, growth } of all)
		assert.ok(growth <= limits[of], `${of} grow by ${growth} from half to half`);
});
