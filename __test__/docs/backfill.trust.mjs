/** The recipe backfill.ts at its full size, with workers that are killed at random. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { missing as skip } from "../../packages/stores/__test__/support/postgres.mjs";
import { draws, isLongRun, repeatable, seed } from "../support/draws.mjs";
import { assertEqualsOneProcess, startFleet } from "./fleet.mjs";

const WORKERS = 4;

/** 20,000 runs. */
const SHAPE = { projects: 8, parts: 5, runs: 500 };

/** The model takes minutes. */
const NOVELTY = isLongRun ? "text" : "words";

const LONGEST_LIFE_MS = 5_000;

test("backfill.ts gives the bytes of one process while its workers are killed", { skip }, (t) =>
	repeatable("kills", async () => {
		const draw = draws(seed);
		const fleet = await startFleet(t, {
			...SHAPE,
			env: { KNOWLEDGEPULSE_SCORING_NOVELTY: NOVELTY },
		});
		for (let place = 0; place < WORKERS; place++) fleet.start();
		let kills = 0;
		/** How many parts were done at the last kill: each kill follows a part, or a slow machine would do none. */
		let before = -1;
		const { retries } = await fleet.finish(async ({ completed }) => {
			await sleep(draw.below(LONGEST_LIFE_MS));
			if (completed === before) return;
			before = completed;
			const place = draw.below(WORKERS);
			await fleet.kill(place);
			fleet.start(place);
			kills += 1;
		});
		t.diagnostic(`${kills} workers killed, ${retries} parts tried again`);
		// Without the model a part takes less than a second, so that a kill may miss all of them.
		if (isLongRun) assert.ok(retries > 0, "no worker was killed within a part");
		await assertEqualsOneProcess(fleet, { novelty: NOVELTY });
	}),
);
