import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Scorer, ScoringError } from "@knowledgepulse/scoring";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { says, words } from "../support/traces.mjs";

const SCORERS = repeats(10);

/** Longer than any call here takes. */
const LOST_AFTER_MS = 60_000;

const thrown = new Error("thrown by a getter");
const reason = new Error("aborted");

/** The codes of the errors that are not the caller's own. */
const CODES = ["INVALID_TRACE", "CLOSED", "EMBEDDER_UNAVAILABLE"];

/** Ways to make a promise. */
const CALLS = {
	evaluateValue: ({ scorer, trace }) => scorer.evaluateValue(trace()),
	explainValue: ({ scorer, trace }) => scorer.explainValue(trace()),
	"evaluateValue, remember: false": ({ scorer, trace }) =>
		scorer.evaluateValue(trace(), { remember: false }),
	remember: ({ scorer, trace }) => scorer.remember(trace()),
	warmup: ({ scorer }) => scorer.warmup(),
	save: ({ scorer, folder, draw }) => scorer.save(join(folder, `${draw.below(3)}`)),
	snapshot: ({ scorer }) => scorer.snapshot(),
	batch: ({ scorer, trace, draw }) =>
		scorer.evaluateValues(
			Array.from({ length: 1 + draw.below(80) }, () => (draw.below(10) ? trace() : {})),
			{ errors: draw.of(["reject", "collect"]) },
		),
	"a bad trace": ({ scorer }) => scorer.explainValue({ metadata: 5 }),
	"a getter that throws": ({ scorer }) =>
		scorer.evaluateValue({
			get metadata() {
				throw thrown;
			},
		}),
	"a proxy that throws": ({ scorer, trace }) =>
		scorer.evaluateValue({
			...trace(),
			steps: new Proxy([], {
				get() {
					throw thrown;
				},
			}),
		}),
	"an array without end": ({ scorer, trace }) =>
		scorer.evaluateValue({ ...trace(), steps: new Array(2 ** 32 - 1) }),
	"a getter that closes": ({ scorer, trace }) =>
		scorer.evaluateValue({
			...trace(),
			get outcome() {
				scorer.close();
				return { confidence: 1 };
			},
		}),
	"aborted at once": ({ scorer, trace }) =>
		scorer.evaluateValue(trace(), { signal: AbortSignal.abort(reason) }),
	"aborted later": ({ scorer, trace, draw }) => {
		const controller = new AbortController();
		setTimeout(() => controller.abort(reason), draw.below(40));
		return scorer.explainValue(trace(), { signal: controller.signal });
	},
};
const ORDINARY = Object.keys(CALLS).filter((name) => !name.includes("closes"));

/** Makes calls of a scorer, and closes it or not; fails unless every promise settles as expected. */
async function callAndClose(draw, folder) {
	const trace = () => says(words(draw.of([1, 20, 450]), draw.below(2 ** 30)));
	const scorer = new Scorer({
		backend: draw.of(["onnx", "native"]),
		...(draw.below(3) ? {} : { budgetMs: draw.below(20) }),
		...(draw.below(3) ? {} : { threads: 1 }),
	});
	if (draw.below(2)) await scorer.warmup();
	const closes = draw.below(3) > 0;
	const names = Array.from({ length: 1 + draw.below(40) }, () => draw.of(ORDINARY));
	if (closes && draw.below(4) === 0)
		names.splice(draw.below(names.length), 0, "a getter that closes");
	const calls = names.map((name) => CALLS[name]({ scorer, trace, draw, folder }));
	for (const call of calls) call.catch(() => {});
	if (closes) {
		await sleep(draw.of([0, draw.below(20), draw.below(200)]));
		scorer.close();
	}
	const lost = sleep(LOST_AFTER_MS, undefined, { ref: false });
	const settled = await Promise.race([Promise.allSettled(calls), lost]);
	assert.ok(settled, `a promise was lost: ${names}`);
	for (const [index, { status, reason: why }] of settled.entries()) {
		if (status === "fulfilled" || why === thrown || why === reason) continue;
		assert.ok(why instanceof ScoringError, `${names[index]}: ${why}`);
		assert.ok(CODES.includes(why.code), `${names[index]}: ${why}`);
		assert.ok(why.code !== "CLOSED" || closes, names[index]);
	}
	assert.equal(scorer.status().pending, 0);
}

test(`every promise of ${SCORERS} scorers settles, whenever they are closed`, async (t) => {
	const folder = temporaryFolder(t);
	for (let index = 0; index < SCORERS; index++)
		await repeatable(`scorer ${index}`, () => callAndClose(draws(seed + index), folder));
});
