import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { assertDecided, contentsOf, decideByHand, decideInFlight } from "../support/decisions.mjs";
import { draws, repeatable, seed } from "../support/draws.mjs";
import { files, read } from "../support/recorded.mjs";
import { repeats } from "../support/repeats.mjs";
import { sharing } from "../support/stores.mjs";
import { trace, words } from "../support/traces.mjs";

const TYPES = ["thought", "tool_call", "observation", "error_recovery", "reflection"];

/** A trace of one of a few texts, which the memo has, so that little time goes into the model. */
function drawn({ number, below, of }, index) {
	const step = () => ({ type: of(TYPES), tool: below(2) ? { name: `tool ${below(4)}` } : null });
	const steps = below(8) ? Array.from({ length: below(25) }, step) : [{ type: "thought" }];
	const made = trace({
		objective: words(1 + below(3), below(30)),
		domain: of(["code", "finance", "medical", "customer_service", "own", "other"]),
		success: below(5) > 0,
		confidence: of([0, 1, number(), number()]),
		steps,
	});
	return { ...made, id: `kp:trace:${index}` };
}

function drawnProfiles({ number, of }) {
	const parts = [number(), of([0, 1, number()]), number(), number()];
	const sum = parts.reduce((a, b) => a + b);
	const [complexity, novelty, toolDiversity, outcomeConfidence] = parts.map((part) => part / sum);
	return { own: { complexity, novelty, toolDiversity, outcomeConfidence } };
}

/** Two scorers that know nothing, without a store or each with one of its own. */
const pair = (options, hasStore) =>
	[1, 2].map(() => (hasStore ? sharing().scorer(options) : new Scorer(options)));

async function compare(traces, threshold, { inFlight, hasStore, ...options }) {
	const [deciding, byHand] = pair({ cache: { maxElements: 40 }, ...options }, hasStore);
	const decisions = await decideInFlight(deciding, traces, inFlight, { threshold });
	const expected = [];
	for (const value of traces) expected.push(await decideByHand(byHand, value, threshold));
	assertDecided(decisions, expected);
	assert.deepEqual(await contentsOf(deciding), await contentsOf(byHand));
	return decisions;
}

for (const hasStore of [false, true])
	for (const inFlight of [1, 16])
		test(`decide is explainValue, compare and remember, ${inFlight} in flight${hasStore ? ", with a store" : ""}`, async () => {
			const draw = draws(seed + inFlight);
			let scored = 0;
			for (let round = 0; round < repeats(5); round++) {
				const traces = Array.from({ length: 50 }, (_, index) => drawn(draw, index));
				const threshold = draw.of([draw.number(), draw.number(), 0.1, 0.45, 0.6, 0.75]);
				const options = { inFlight, hasStore, profiles: drawnProfiles(draw) };
				const decisions = await repeatable(`round ${round}, threshold ${threshold}`, () =>
					compare(traces, threshold, options),
				);
				scored += decisions.filter(({ score }) => score !== null).length;
			}
			assert.ok(scored > 0, `KP_SEED=${seed}: none was decided by its score`);
		});

for (const file of files)
	test(`decide is explainValue, compare and remember on ${file}`, async () => {
		const { traces } = read(file);
		// After the first pass, the memo has the texts.
		for (const threshold of [0.6, 0.75])
			for (const hasStore of [false, true])
				for (const inFlight of [1, 16])
					await compare(traces, threshold, { inFlight, hasStore, precision: "fast" });
	});

test("decide embeds at most 23 of 100 recorded airline runs at 0.75", {
	skip: !files.includes("airline.jsonl"),
}, async () => {
	const scorer = new Scorer({ precision: "fast" });
	const { traces } = read("airline.jsonl");
	const decisions = await decideInFlight(scorer, traces, 16);
	// A text is embedded for a score, and for a trace that was accepted without one.
	const embedded = decisions.filter(({ score, accepted }) => score !== null || accepted);
	assert.ok(embedded.length <= 23, `${embedded.length} texts`);
});
