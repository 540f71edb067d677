/** Runs with spans up to ten minutes late, under drawn limits: each has one score or none, and what is missing is said. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { draws, repeatable, repeats, seed } from "../../../__test__/support/draws.mjs";

// Before the processor is loaded, which takes the timers of then.
mock.timers.enable({ apis: ["setTimeout"] });
const { Scorer } = await import("@knowledgepulse/scoring");
const { agent, answersOf, chat, diagnostics, dropped, start, tracing } = await import(
	"./support.mjs"
);

const TEN_MINUTES_MS = 600_000;

/** As of an SDK whose limits cannot be known. */
const withoutLimits = (span) => ({
	...span,
	spanContext: () => span.spanContext(),
	droppedAttributesCount: span.droppedAttributesCount,
	_spanLimits: undefined,
});

/**
 * Draws a run: a local root, below it an agent or nothing, below that calls, one after another or side by side, some
 * within a step. `answers` are those that it should have; `actions` start and end its spans, each at its time.
 */
function drawRun(draw, tracer, name) {
	const actions = [];
	const at = (ms, act) => actions.push({ ms, act });
	const late = () => draw.below(draw.of([1, 1000, TEN_MINUTES_MS]));
	const span = (ms, lengthMs, begin) => {
		const made = {};
		at(ms, () => {
			made.span = begin();
		});
		at(ms + lengthMs, () => made.span.end());
		return made;
	};
	const begun = draw.below(TEN_MINUTES_MS);
	const root = span(begun, late(), () => start(tracer, "POST /jobs"));
	const above =
		draw.number() < 0.5
			? root
			: span(begun, late(), () => start(tracer, "invoke_agent", agent(name), root.span));
	const answers = [];
	let ms = begun;
	for (let index = 0; index <= draw.below(5); index++) {
		ms += late();
		const answer = `${name}.${index} ${"x".repeat(draw.below(draw.of([10, 100, 5000])))}`;
		const others = Array.from({ length: draw.below(4) }, (_, index) => [`other.${index}`, index]);
		const attributes = { ...Object.fromEntries(others), ...chat("Next?", answer) };
		const step = span(ms, late(), () => start(tracer, "step", {}, above.span));
		const parent = draw.of([above, step]);
		span(ms, late(), () => start(tracer, "chat", attributes, parent.span));
		answers.push(answer);
	}
	return { root, actions, answers };
}

/** Returns of a round how many of its runs were scored whole, in part or not at all. */
async function round(draw) {
	diagnostics.warn.length = 0;
	const waitMs = draw.of([0, 1000, 10_000, TEN_MINUTES_MS]);
	const maxTraces = draw.of([1, 3, 1000]);
	const scorer = new Scorer({ novelty: "words" });
	const attributeValueLengthLimit = draw.of([undefined, 64 + draw.below(4033)]);
	const spanLimits = { attributeValueLengthLimit, attributeCountLimit: draw.of([undefined, 5]) };
	const ended = draw.of([undefined, withoutLimits]);
	const traced = tracing({ assumeSuccess: true, scorer, waitMs, maxTraces }, { spanLimits }, ended);
	const runs = Array.from({ length: 1 + draw.below(4) }, (_, index) =>
		drawRun(draw, traced.tracer, `${index}`),
	);
	const actions = runs.flatMap((run) => run.actions);
	for (let count = draw.below(3); count > 0; count--)
		actions.push({ ms: draw.below(2 * TEN_MINUTES_MS), act: traced.flush });
	let now = 0;
	for (const { ms, act } of actions.sort((one, other) => one.ms - other.ms)) {
		mock.timers.tick(ms - now);
		now = ms;
		await act();
	}
	mock.timers.tick(waitMs);
	await traced.processor.shutdown();
	assert.deepEqual(traced.errors, []);
	const found = { whole: 0, part: 0, none: 0 };
	let missing = 0;
	for (const { root, answers } of runs) {
		const { traceId } = root.span.spanContext();
		const scored = traced.runs.filter(({ spanContext }) => spanContext.traceId === traceId);
		assert.ok(scored.length <= 1, `${scored.length} scores of a run`);
		const has = scored.flatMap(answersOf);
		assert.deepEqual(
			has.filter((answer) => !answers.includes(answer)),
			[],
		);
		assert.equal(new Set(has).size, has.length);
		missing += answers.length - has.length;
		found[has.length === 0 ? "none" : has.length < answers.length ? "part" : "whole"] += 1;
	}
	const said = dropped().flatMap((text) => text.match(/(?<=^|, )\d+(?= )/g));
	const count = said.reduce((sum, number) => sum + Number(number), 0);
	assert.ok(
		count >= missing,
		`${missing} calls are missing, ${count} spans are said to be dropped`,
	);
	assert.ok(count <= actions.length / 2, `more spans are said to be dropped than there were`);
	return found;
}

test("ScoringSpanProcessor scores a run once or not at all, and says what is missing", async () => {
	const found = { whole: 0, part: 0, none: 0 };
	for (let index = 0; index < repeats(200); index++) {
		const counts = await repeatable(`round ${index}`, () => round(draws(seed + index)));
		for (const name in found) found[name] += counts[name];
	}
	for (const name in found) assert.ok(found[name] > 0, `no run is scored ${name}`);
});
