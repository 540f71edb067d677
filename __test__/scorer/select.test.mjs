import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { runs } from "../data/runs.mjs";
import { run, valueFrom } from "../support/child.mjs";
import { named, sharing } from "../support/stores.mjs";
import { kinds, novel, trace, words } from "../support/traces.mjs";

const some = runs.slice(0, 12);
const wordy = { novelty: "words" };

/** Many short traces, of which few are alike. */
const many = (count) =>
	Array.from({ length: count }, (_, seed) => named(`${seed}`, words(9, seed)));

/** Traces of these names, a task for each letter. */
const tasks = (...names) =>
	names.map((name) => named(name, { a: "refund an order", b: "sort the letters" }[name[0]]));

const ids = (selected) => selected.map(({ id }) => id);

const dot = (a, b) => a.reduce((sum, x, at) => sum + x * b[at], 0);

for (const novelty of kinds)
	test(`Scorer.select keeps what stands for most, novelty ${novelty}`, async () => {
		const failed = (one, index) => ({ ...one, metadata: { ...one.metadata, success: index > 4 } });
		const traces = some.map(failed);
		const scorer = new Scorer({ novelty });
		const selected = await scorer.select(traces, { count: 5 });
		const vectors = await Promise.all(traces.map((one) => scorer.embed(one)));
		for (const [
			at,
			{ index, id, coverage, standsFor, covers, members, report, ...rest },
		] of Object.entries(selected)) {
			assert.ok(coverage > (selected[at - 1]?.coverage ?? 0) && coverage <= 1);
			assert.deepEqual([id, rest], [traces[index].id ?? null, { measuredOver: 12 }]);
			assert.ok([0, 1].includes(standsFor - members.length));
			const cubes = members.map(({ similarity }) => similarity ** 3);
			const sum = cubes.reduce((a, b) => a + b, standsFor - members.length);
			assert.ok(Math.abs(covers - sum) < 1e-6);
			for (const { index: other, similarity } of members)
				assert.ok(Math.abs(similarity - Math.max(0, dot(vectors[index], vectors[other]))) < 1e-6);
			// The report is that of a scorer that remembers what was kept before.
			const own = new Scorer({ novelty });
			for (const { index: before } of selected.slice(0, at)) await own.remember(traces[before]);
			const { novelty: found, ...scored } = await own.explainValue(traces[index]);
			assert.deepEqual([report.text.novelty, report.profile], [novelty, scored.profile]);
			assert.deepEqual(
				[report.novelty.source, report.novelty.nearest],
				[found.source, found.nearest],
			);
			assert.ok(Math.abs(report.score - scored.score) < 1e-6);
		}
		const known = selected.flatMap(({ members }) => members.map(({ index }) => index));
		assert.equal(new Set(known).size, known.length, "each stands for others");
		assert.equal(scorer.status().cacheSize, 0);
	});

test("Scorer.select reads arrays, sets and streams, and stops where nothing adds", async () => {
	const given = tasks("a1", "a2", "b1");
	async function* streamed() {
		yield* given;
	}
	const scorer = new Scorer(wordy);
	for (const traces of [given, new Set(given), streamed()]) {
		const [first, second, ...others] = await scorer.select(traces);
		assert.deepEqual([first.id, first.standsFor, first.members.length], ["a1", 2, 1]);
		assert.deepEqual([first.members[0].index, second.id, second.members], [1, "b1", []]);
		assert.deepEqual([second.coverage, others], [1, []]);
	}
	assert.deepEqual(await scorer.select([]), []);
});

test("Scorer.select ends at the wanted coverage", async () => {
	const scorer = new Scorer(wordy);
	const all = await scorer.select(many(50));
	const selected = await scorer.select(many(50), { coverage: all[9].coverage });
	assert.deepEqual(ids(selected), ids(all.slice(0, 10)));
	assert.equal((await scorer.select(many(50), { coverage: 1 })).at(-1).coverage, 1);
});

test("Scorer.select compares runs unless novelty was set", async () => {
	const kindOf = async ({ scoring, input }) => {
		const scorer = new scoring.Scorer();
		const kinds = [await scorer.select(input), [{ report: { text: scorer.status() } }]];
		scoring.configure({ novelty: "text" });
		kinds.push(await new scoring.Scorer().select(input));
		return kinds.map(([{ report }]) => report.text.novelty);
	};
	const input = tasks("a1");
	assert.deepEqual(await valueFrom(kindOf, { input }), ["run", "text", "text"]);
	const env = { KNOWLEDGEPULSE_SCORING_NOVELTY: "words" };
	assert.deepEqual(await valueFrom(kindOf, { input, env }), ["words", "words", "text"]);
});

test("Scorer.select weighs a known failure half, but not an assumed one", async () => {
	const of = (id, metadata) => ({ ...named(id, "refund an order"), metadata });
	const domain = { task_domain: "code" };
	const scorer = new Scorer(wordy);
	for (const [first, expected] of [
		[{ success: false }, "2"],
		[{ success: false, success_from: "assumed" }, "1"],
		[{ success: false, success_from: "option" }, "2"],
		[{ success: true }, "1"],
	]) {
		const traces = [of("1", { ...domain, ...first }), of("2", { ...domain, success: true })];
		assert.deepEqual(ids(await scorer.select(traces)), [expected], JSON.stringify(first));
	}
});

test("Scorer.select weighs a trace by what it stands for, and adds that up", async () => {
	const standing = (one, stands_for, covers = null) => ({
		...one,
		metadata: { ...one.metadata, stands_for, covers },
	});
	const scorer = new Scorer(wordy);
	const all = tasks("a1", "a2", "b1");
	for (const [counts, expected] of [
		[[undefined, 1, null], { a1: 2, b1: 1 }],
		[[3, 4, 5], { a1: 7, b1: 5 }],
		[[1, 1, 9], { b1: 9, a1: 2 }],
	]) {
		const kept = await scorer.select(all.map((one, at) => standing(one, counts[at])));
		const sums = kept.map(({ id, standsFor }) => [id, standsFor]);
		assert.deepEqual(sums, Object.entries(expected), JSON.stringify(counts));
		const [{ coverage, standsFor }] = kept;
		const sum = sums.reduce((sum, [, count]) => sum + count, 0);
		assert.ok(Math.abs(coverage - standsFor / sum) < 0.05, `${coverage}`);
	}
	const wide = all.map((one, at) => standing(one, [8, 1, 7][at]));
	wide[0].metadata.covers = 2.5;
	const [first, second] = await scorer.select(wide);
	assert.deepEqual([first.id, second.id, second.standsFor], ["b1", "a1", 9]);
	assert.ok(Math.abs(second.covers - 3.5) < 1e-6);
	for (const covers of [1e-13, 16_385, 2 ** 53])
		assert.deepEqual(
			ids(await scorer.select(all.map((one) => standing(one, 60_000, covers)))),
			["a1", "b1"],
			`${covers}`,
		);
	for (const [name, wrong] of [
		["stands_for", 0],
		["stands_for", 1.5],
		["stands_for", "3"],
		["covers", 0],
		["covers", 1e16],
	]) {
		const metadata = { ...all[0].metadata, [name]: wrong };
		const failing = scorer.select([{ ...all[0], metadata }]);
		await assert.rejects(failing, { code: "INVALID_TRACE", path: `metadata.${name}` });
	}
});

test("Scorer.select leaves out what was kept before, given or in the cache or store", async () => {
	const traces = tasks("a2", "b1");
	const scorer = new Scorer(wordy);
	const [kept] = await scorer.select(traces, { against: new Set(tasks("a1")) });
	assert.deepEqual([kept.id, kept.coverage, kept.standsFor], ["b1", 1, 1]);
	assert.deepEqual([kept.report.novelty.source, kept.report.novelty.nearest], ["cache", "a1"]);
	for (const scorer of [new Scorer(wordy), sharing().scorer(wordy)]) {
		await scorer.evaluateValues(tasks("a1"));
		assert.deepEqual(ids(await scorer.select(traces)), ["a2", "b1"]);
		const [kept, ...others] = await scorer.select(traces, { againstCache: true });
		assert.deepEqual([kept.id, kept.coverage, kept.report.novelty.nearest], ["b1", 1, "a1"]);
		assert.deepEqual([others, scorer.status().cacheSize], [[], 1]);
	}
	const all = { against: tasks("a1", "b2"), onProgress: ({ stage }) => stages.add(stage) };
	const stages = new Set();
	assert.deepEqual(await scorer.select(traces, all), []);
	assert.deepEqual([...stages], ["embed", "compare", "choose"]);
});

test("Scorer.select refuses a cache with vectors of another kind or model", async () => {
	const refused = { code: "INVALID_OPTION", path: "againstCache" };
	for (const scorer of [new Scorer(), sharing().scorer()])
		await assert.rejects(scorer.select(tasks("a1"), { againstCache: true }), refused);
	const body = async ({ scoring, input }) => {
		scoring.configure({ novelty: "text" });
		const { Scorer, _getLocalCache: cache, evaluateValue } = scoring;
		await evaluateValue(input[0]);
		return [cache().size, (await new Scorer().select(input, { againstCache: true })).length];
	};
	assert.deepEqual(await valueFrom(body, { input: tasks("a1") }), [1, 1]);
});

test("Scorer.select does not ask a store unless its traces count", async () => {
	const ask = () => assert.fail("the store was asked");
	const scorer = sharing().scorerThrough({ append: ask, read: ask }, wordy);
	assert.equal((await scorer.select(tasks("a1", "b1"))).length, 2);
	const failing = scorer.select(some, { againstCache: true });
	await assert.rejects(failing, { code: "STORE_UNAVAILABLE" });
});

test("Scorer.select keeps at most so many of a group", async () => {
	const scorer = new Scorer(wordy);
	const all = many(30).map((one, index) => ({ ...one, "a/b": [{ n: index % 3 }], index }));
	for (const group of [
		"/a~1b/0/n",
		(_, index) => String(index % 3),
		({ index }) => `${index % 3}`,
	]) {
		const selected = await scorer.select(all, { perGroup: 2, group });
		assert.deepEqual(
			ids(selected)
				.map((id) => id % 3)
				.sort(),
			[0, 0, 1, 1, 2, 2],
		);
	}
	for (const group of ["/task", "/none", () => null, () => undefined])
		assert.equal((await scorer.select(all, { perGroup: 1, group })).length, 30);
});

test("Scorer.select selects nothing without vectors", async () => {
	assert.deepEqual(await new Scorer({ embedder: "off" }).select(some), []);
	const required = new Scorer({ embedder: "required", library: "/missing", model: "/missing" });
	await assert.rejects(required.select(some), { code: "EMBEDDER_UNAVAILABLE" });
	const selected = await new Scorer(wordy).select([novel(" "), novel("refund an order", "a")]);
	assert.deepEqual(ids(selected), ["a"]);
});

test("Scorer.select rejects for a wrong trace or option, and when the scorer is closed", async () => {
	const scorer = new Scorer(wordy);
	for (const [traces, options, code, path] of [
		[[trace(), {}], {}, "INVALID_TRACE", "metadata"],
		[5, {}, "INVALID_OPTION", "traces"],
		[[], { count: 0 }, "INVALID_OPTION", "count"],
		[[], { coverage: 0 }, "INVALID_OPTION", "coverage"],
		[[], { coverage: 1.1 }, "INVALID_OPTION", "coverage"],
		[[], { threshold: 0.5 }, "INVALID_OPTION", "threshold"],
		[[], { against: "traces" }, "INVALID_OPTION", "against"],
		[[], { against: [{}] }, "INVALID_TRACE", "metadata"],
		[[], { againstCache: 1 }, "INVALID_OPTION", "againstCache"],
		[[], { group: "task" }, "INVALID_OPTION", "group"],
		[[trace()], { group: () => 5 }, "INVALID_OPTION", "group"],
		[[], { perGroup: 1 }, "INVALID_OPTION", "perGroup"],
		[[], { perGroup: 1.5, group: "" }, "INVALID_OPTION", "perGroup"],
	])
		await assert.rejects(scorer.select(traces, options), { code, path });
	const thrown = new Error("thrown on purpose");
	const throws = () => {
		throw thrown;
	};
	for (const options of [{ group: throws }, { onProgress: throws }])
		await assert.rejects(scorer.select([trace()], options), thrown);
	scorer.close();
	for (const traces of [[], [trace()]])
		await assert.rejects(scorer.select(traces), { code: "CLOSED" });
});

const reason = new Error("stop");
const ENDINGS = [
	["the reason of its signal", (_, stop) => stop.abort(reason), reason],
	["CLOSED when the scorer is closed", (scorer) => scorer.close(), { code: "CLOSED" }],
];

for (const [what, end, expected] of ENDINGS)
	test(`Scorer.select rejects with ${what}, in each of its stages`, async () => {
		const aborted = new Scorer(wordy).select(some, { signal: AbortSignal.abort(reason) });
		await assert.rejects(aborted, reason);
		for (const stage of ["embed", "compare", "choose"]) {
			const scorer = new Scorer(wordy);
			const stop = new AbortController();
			const onProgress = (progress) => {
				// In the next step.
				if (progress.stage === stage) setImmediate(end, scorer, stop);
			};
			const selecting = scorer.select(many(1500), { onProgress, signal: stop.signal });
			await assert.rejects(selecting, expected, stage);
		}
	});

for (const [what, end, expected] of ENDINGS)
	test(`Scorer.select rejects with ${what} while its source is silent`, async () => {
		let isClosed = false;
		const silent = {
			[Symbol.asyncIterator]: () => silent,
			next: () => new Promise(() => {}),
			return: async () => {
				isClosed = true;
				return {};
			},
		};
		const scorer = new Scorer(wordy);
		const stop = new AbortController();
		const selecting = scorer.select(silent, { signal: stop.signal });
		setImmediate(end, scorer, stop);
		await assert.rejects(selecting, expected);
		assert.ok(isClosed);
	});

test("Scorer.select ends with its worker, and others go on", async () => {
	const body = async ({ scoring, input }) => {
		const { once } = await import("node:events");
		const { Worker } = await import("node:worker_threads");
		const code = `const { parentPort, workerData } = require("node:worker_threads");
const scorer = new (require("@knowledgepulse/scoring").Scorer)({ novelty: "words" });
scorer.select(workerData, { onProgress: ({ stage }) => parentPort.postMessage(stage) });`;
		const worker = new Worker(code, { eval: true, workerData: input, execArgv: [] });
		for (let stage = "embed"; stage === "embed"; ) [stage] = await once(worker, "message");
		await worker.terminate();
		return (await new scoring.Scorer({ novelty: "words" }).select(input.slice(0, 9))).length;
	};
	const { code, signal, stderr, value } = await run(body, { input: many(3000) });
	assert.deepEqual(
		{ code, signal, stderr, value },
		{ code: 0, signal: null, stderr: "", value: 9 },
	);
});
