/** Workers that are terminated while they import, load the model, and embed. */
import assert from "node:assert/strict";
import { BACKENDS, valueIn } from "../lib/child.mjs";
import { draws } from "../lib/draw.mjs";
import { finding } from "../lib/finding.mjs";
import { LIMIT_MS, MARGIN_MS } from "./ends.mjs";
import { moments } from "./terminating.mjs";

/** Each process terminates so many rounds of four workers. */
const ROUNDS = 10;

/** Terminates `times` workers, divided among the moments. */
export async function terminations({ times, seed, log }) {
	const draw = draws(seed);
	const rows = [];
	for (const moment of moments) {
		let slowest = 0;
		let ended = 0;
		let unscored = 0;
		let scored = 0;
		while (ended < times / moments.length) {
			const rest = Math.ceil((times / moments.length - ended) / 4);
			const input = {
				moment,
				rounds: Math.min(ROUNDS, rest),
				seed: draw.below(2 ** 30),
			};
			const env = { KNOWLEDGEPULSE_SCORING_BACKEND: draw.of(BACKENDS) };
			try {
				const file = "lifecycle/terminating.mjs";
				const found = await valueIn(file, "terminating", { input, env });
				for (const { code, message, took, scored } of found.endings) {
					assert.deepEqual({ code, message }, { code: 1, message: undefined });
					assert.ok(took <= LIMIT_MS + MARGIN_MS, `it took ${took} ms`);
					slowest = Math.max(slowest, took);
					unscored += scored ? 0 : 1;
				}
				assert.equal(found.pending, 0);
				ended += found.endings.length;
				scored += found.scored;
			} catch (error) {
				throw finding(error, `workers: ${JSON.stringify({ input, env })}`);
			}
		}
		const found = `the others went on, slowest end ${slowest.toFixed()} ms; ${unscored} before their first score; ${scored} scores in the main thread meanwhile`;
		rows.push({
			what: `workers terminated: ${moment}`,
			tried: `${ended}`,
			found,
		});
		log(`workers terminated, ${moment}: ${ended}, ${found}`);
	}
	return rows;
}
