import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { after, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { modelCopy, temporaryFolder } from "../support/model-folder.mjs";
import { named, sharing } from "../support/stores.mjs";
import { novel, profiles, trace, words } from "../support/traces.mjs";

/** The default trace is accepted at the threshold `accepts`, and rejected by its bounds at `rejects`. */
const accepts = { threshold: 0.2 };
const rejects = { threshold: 0.9 };

test("decide rejects by bounds without the model, and accepts by scoring", async () => {
	const scorer = new Scorer({ model: modelCopy(temporaryFolder({ after })) });
	const bounds = [0.23375, 0.58375];
	assert.deepEqual(await scorer.decide(named("a", words(300, 1)), rejects), {
		accepted: false,
		score: null,
		bounds,
		novelty: null,
		hint: "whatever its novelty, it scores at most 0.58375: below the threshold, 0.9",
	});
	assert.equal(scorer.status().embedder.state, "idle");
	const { accepted, score, novelty } = await scorer.decide(named("a", words(300, 1)), accepts);
	assert.deepEqual([accepted, novelty.source], [true, "empty-cache"]);
	assert.ok(bounds[0] <= score && score <= bounds[1]);
	assert.deepEqual([scorer.status().pending, scorer.status().cacheSize], [0, 1]);
});

test("decide scores if the bounds do not decide, and adds accepted traces", async () => {
	const scorer = new Scorer({ profiles, threshold: 0.5 });
	const decisions = await Promise.all(
		["river stone", "river stone", "a ledger of refunds"].map((text) =>
			scorer.decide(novel(text, text)),
		),
	);
	assert.deepEqual(
		decisions.map(({ accepted, bounds, novelty }) => [accepted, bounds, novelty.nearest]),
		[
			[true, [0, 1], null],
			[false, [0, 1], "river stone"],
			[true, [0, 1], "river stone"],
		],
	);
	assert.deepEqual([decisions[0].score, scorer.status().cacheSize], [0.5, 2]);
});

test("decide rejects after close, whatever the bounds", async () => {
	const scorer = new Scorer();
	scorer.close();
	for (const options of [accepts, rejects])
		await assert.rejects(scorer.decide(trace(), options), { code: "CLOSED" });
});

test("decide with exact gives the score and the novelty as well", async () => {
	const scorer = new Scorer();
	const report = await scorer.explainValue(trace(), { remember: false });
	const { accepted, score, novelty } = await scorer.decide(trace(), { ...rejects, exact: true });
	assert.deepEqual([accepted, score, novelty], [false, report.score, report.novelty]);
	assert.equal(scorer.status().cacheSize, 0);
});

test("decide hints at a trace that was scored before, and at bounds below the threshold", async () => {
	const scorer = new Scorer({ profiles, threshold: 0.4 });
	const again = 'the nearest is this trace itself, scored before: known: "again" leaves it out';
	const one = novel("river stone", "1");
	await scorer.evaluateValue(one);
	for (const [trace, options, hint] of [
		[one, {}, again],
		[one, { known: "again" }, null],
		[{ ...one, id: "2" }, {}, null],
		[{ ...one, id: undefined }, {}, null],
	]) {
		const decision = await scorer.decide(trace, { remember: false, ...options });
		const report = await scorer.explainValue(trace, { remember: false, ...options });
		assert.deepEqual([decision.hint, report.hint], [hint, hint]);
	}
	const low = await new Scorer().decide(trace(), { ...rejects, exact: true });
	assert.match(low.hint, /scores at most 0\.58375: below the threshold, 0\.9$/);
	const coding = { ...trace({ domain: "coding" }), id: "3" };
	const { hint } = await scorer.explainValue(coding);
	assert.equal((await scorer.explainValue(coding)).hint, `${hint}; ${again}`);
});

for (const exact of [false, true])
	test(`decide adds what remember says, with exact ${exact}`, async () => {
		for (const [remember, added] of [
			[undefined, 1],
			["accepted", 1],
			["all", 2],
			[false, 0],
		]) {
			const scorer = new Scorer();
			for (const options of [accepts, rejects])
				await scorer.decide(trace(), { ...options, remember, exact });
			await scorer.warmup();
			assert.equal(scorer.status().cacheSize, added, String(remember));
		}
	});

test("decide takes the threshold of the call, the scorer, configure, the variable and the protocol", async () => {
	assert.equal(new Scorer().status().threshold, 0.75);
	const scorer = new Scorer({ threshold: 0.2 });
	assert.equal((await scorer.decide(trace())).accepted, true);
	assert.equal((await scorer.decide(trace(), rejects)).accepted, false);
	const body = ({ scoring }) => {
		const thresholds = [scoring.status().threshold, new scoring.Scorer().status().threshold];
		scoring.configure({ threshold: 1 });
		return [...thresholds, scoring.status().threshold];
	};
	const env = { KNOWLEDGEPULSE_SCORING_THRESHOLD: "0.25" };
	assert.deepEqual(await valueFrom(body, { env }), [0.25, 0.25, 1]);
});

test("decide rejects for a wrong variable until a threshold is configured", async () => {
	const body = async ({ scoring, input }) => {
		const { code, path } = await scoring.decide(input).catch((error) => error);
		scoring.configure({ threshold: 0.2 });
		return [code, path, (await scoring.decide(input)).accepted];
	};
	const env = { KNOWLEDGEPULSE_SCORING_THRESHOLD: "1.5" };
	const found = await valueFrom(body, { input: trace(), env });
	assert.deepEqual(found, ["INVALID_OPTION", "KNOWLEDGEPULSE_SCORING_THRESHOLD", true]);
});

test("decide rejects for a wrong trace or option, and adds nothing", async () => {
	const scorer = new Scorer();
	for (const [value, options, code, path] of [
		[{}, {}, "INVALID_TRACE", "metadata"],
		[trace(), { threshold: 1.01 }, "INVALID_OPTION", "threshold"],
		[trace(), { threshold: "0.5" }, "INVALID_OPTION", "threshold"],
		[trace(), { threshold: Number.NaN }, "INVALID_OPTION", "threshold"],
		[trace(), { remember: true }, "INVALID_OPTION", "remember"],
		[trace(), { exact: 1 }, "INVALID_OPTION", "exact"],
		[trace(), { treshold: 0.5 }, "INVALID_OPTION", "treshold"],
	])
		await assert.rejects(scorer.decide(value, options), { code, path });
	assert.deepEqual([scorer.status().cacheSize, scorer.status().calls.answered], [0, 0]);
	assert.throws(() => new Scorer({ threshold: -1 }), { path: "threshold" });
});

test("decide rejects for an aborted signal although the bounds decide, and adds nothing", async () => {
	const reason = new Error("stop");
	const scorer = new Scorer();
	const options = { ...rejects, signal: AbortSignal.abort(reason) };
	await assert.rejects(scorer.decide(trace(), options), reason);
	assert.equal((await scorer.warmup()).cacheSize, 0);
});

test("decide over budget decides by a novelty of 0.5, and adds nothing", async () => {
	const scorer = new Scorer({ profiles, budgetMs: 0, threshold: 0.5 });
	const { accepted, novelty } = await scorer.decide(novel(words(500, 9002)));
	assert.deepEqual([accepted, novelty.source, scorer.status().cacheSize], [true, "over-budget", 0]);
});

test("decide without the embedder decides by a novelty of 0.5, and adds nothing", async () => {
	const scorer = new Scorer({ profiles, embedder: "off" });
	const { accepted, novelty } = await scorer.decide(novel("x"), { threshold: 0.5 });
	assert.deepEqual([accepted, novelty.source], [true, "no-embedder"]);
	assert.equal((await scorer.decide(trace(), accepts)).accepted, true);
	await scorer.clear();
	const { cacheSize, calls } = scorer.status();
	assert.deepEqual([cacheSize, calls.failed], [0, 0]);
});

test("decide resolves when the store has the accepted trace, or with a neutral novelty if it is unavailable", async () => {
	const appended = [];
	let isBroken = false;
	const append = async (real, entries) => {
		if (isBroken) throw new Error("no route");
		appended.push(...entries.map(({ id }) => id));
		return real();
	};
	const scorer = sharing().scorerThrough({ append }, { profiles, threshold: 0.5 });
	await scorer.decide(novel("river", "a"));
	assert.deepEqual(appended, ["a"]);
	isBroken = true;
	const { score, novelty } = await scorer.decide(novel("ledger", "b"));
	assert.deepEqual([score, novelty.source], [0.5, "no-store"]);
});

test("decide publishes the scores of traces that it adds", async () => {
	const published = [];
	const listen = (message) => published.push(message);
	const scored = channel("knowledgepulse.scoring.score");
	scored.subscribe(listen);
	const scorer = new Scorer({ profiles, threshold: 0.5 });
	await scorer.decide(novel("river"));
	await scorer.decide(novel("river"));
	await scorer.decide(trace(), accepts);
	await scorer.decide(novel("river"), { remember: "all" });
	scored.unsubscribe(listen);
	assert.deepEqual(
		published.map(({ trace, report }) => [trace.task.objective, report.novelty.source]),
		[
			["river", "empty-cache"],
			[trace().task.objective, "cache"],
			["river", "cache"],
		],
	);
});
