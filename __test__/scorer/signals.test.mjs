import assert from "node:assert/strict";
import { getEventListeners, getMaxListeners } from "node:events";
import { join } from "node:path";
import { after, test } from "node:test";
import { evaluateValue, Scorer } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { occupied, words } from "../support/traces.mjs";

const folder = temporaryFolder({ after });

/** A trace that takes a while to embed. */
const long = (seed) => ({ ...traces[0], id: String(seed), task: { objective: words(500, seed) } });

/** The calls of a scorer that take a signal, by name. */
const calls = {
	evaluateValue: (scorer, options) => scorer.evaluateValue(long(1), options),
	explainValue: (scorer, options) => scorer.explainValue(long(1), options),
	"evaluateValue with remember: false": (scorer, options) =>
		scorer.evaluateValue(long(1), { ...options, remember: false }),
	decide: (scorer, options) => scorer.decide(long(1), { ...options, exact: true, remember: "all" }),
	remember: (scorer, options) => scorer.remember(long(1), options),
	embed: (scorer, options) => scorer.embed("text", options),
	similar: (scorer, options) => scorer.similar("text", options),
	evaluateValues: (scorer, options) => scorer.evaluateValues([long(1)], options),
	warmup: (scorer, options) => scorer.warmup(options),
	snapshot: (scorer, options) => scorer.snapshot(options),
	save: (scorer, options) => scorer.save(join(folder, "snapshot"), options),
};

/** A scorer with calls for which others wait. */
function busyScorer() {
	const scorer = new Scorer();
	occupied(scorer, { remember: false });
	return scorer;
}

for (const [name, call] of Object.entries(calls)) {
	test(`Scorer.${name} rejects with the reason of a signal that is aborted already`, async () => {
		const scorer = new Scorer();
		for (const reason of [new Error("no"), "no", 0]) {
			const signal = AbortSignal.abort(reason);
			await assert.rejects(call(scorer, { signal }), (caught) => caught === reason);
		}
		assert.equal(scorer.status().calls.answered, 0);
	});

	test(`Scorer.${name} rejects with the reason of a signal that is aborted later`, async () => {
		const scorer = busyScorer();
		const controller = new AbortController();
		const { signal } = controller;
		const pending = call(scorer, { signal });
		const reason = new Error("no longer needed");
		controller.abort(reason);
		await assert.rejects(pending, reason);
		scorer.close();
		assert.equal(scorer.status().cacheSize, 0);
		assert.equal(getEventListeners(signal, "abort").length, 0);
	});

	test(`Scorer.${name} refuses an invalid signal, and misspelt options`, async () => {
		const scorer = new Scorer();
		for (const signal of [5, null, "signal", {}, { aborted: false }])
			await assert.rejects(call(scorer, { signal }), {
				name: "ScoringError",
				code: "INVALID_OPTION",
				path: "signal",
			});
		await assert.rejects(call(scorer, { singal: undefined }), {
			code: "INVALID_OPTION",
			path: "singal",
			message: /did you mean signal\?/,
		});
		assert.equal(scorer.status().cacheSize, 0);
	});

	test(`Scorer.${name} recognises a signal of another realm by its shape`, async () => {
		const scorer = new Scorer();
		const controller = new AbortController();
		// It has the shape of a signal, but is not an instance of AbortSignal.
		const signal = {
			get aborted() {
				return controller.signal.aborted;
			},
			get reason() {
				return controller.signal.reason;
			},
			addEventListener: (...given) => controller.signal.addEventListener(...given),
			removeEventListener: (...given) => controller.signal.removeEventListener(...given),
		};
		await call(scorer, { signal });
		const busy = busyScorer();
		const pending = call(busy, { signal });
		controller.abort("no longer needed");
		assert.equal(await pending.catch((reason) => reason), "no longer needed");
		busy.close();
		assert.equal(getEventListeners(controller.signal, "abort").length, 0);
	});
}

test("Scorer.evaluateValue ignores a signal that is aborted after the answer", async () => {
	const scorer = new Scorer();
	const controller = new AbortController();
	const { signal } = controller;
	await scorer.evaluateValue(traces[0], { signal });
	controller.abort();
	assert.equal(scorer.status().cacheSize, 1);
});

test("Scorer.evaluateValues ends when its signal is aborted", async () => {
	const scorer = new Scorer();
	const controller = new AbortController();
	const { signal } = controller;
	const onProgress = ({ done }) => done === 3 && controller.abort();
	const all = Array.from({ length: 20 }, (_, seed) => long(seed));
	await assert.rejects(scorer.evaluateValues(all, { signal, onProgress }), { name: "AbortError" });
	await scorer.warmup();
	assert.ok(scorer.status().cacheSize < 20);
	assert.equal(scorer.status().pending, 0);
});

test("Scorer adds one listener to a signal, for all calls together, and changes nothing else", async () => {
	const scorer = new Scorer();
	const { signal } = new AbortController();
	const limit = getMaxListeners(signal);
	const listeners = () => getEventListeners(signal, "abort").length;
	const many = Array.from({ length: 100 }, (_, seed) =>
		scorer.evaluateValue(long(seed % 3), { signal }),
	);
	many.push(scorer.warmup({ signal }), scorer.snapshot({ signal }));
	const batch = scorer.evaluateValues(traces, {
		signal,
		onProgress: () => assert.ok(listeners() <= 1, String(listeners())),
	});
	assert.ok(listeners() <= 1, String(listeners()));
	await Promise.all([...many, batch]);
	assert.deepEqual([listeners(), getMaxListeners(signal)], [0, limit]);
	assert.deepEqual(Object.keys(signal), []);
});

test("Scorer leaves no listener on a signal that two scorers share", async () => {
	const [one, other] = [new Scorer(), new Scorer()];
	const controller = new AbortController();
	const { signal } = controller;
	const pending = one.evaluateValue(long(1), { signal });
	await other.evaluateValue(traces[0], { signal }).catch(() => {});
	other.close();
	controller.abort();
	await pending.catch(({ name }) => assert.equal(name, "AbortError"));
	assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("evaluateValue ignores a second argument that is not an object", async () => {
	const scores = await Promise.all(traces.map(evaluateValue));
	assert.equal(scores.length, traces.length);
});
