/** What `lib/gather.js` reads, compared with the engine's own reader: the same reads, scores and errors. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import vm from "node:vm";
import fc from "fast-check";
import { anyTrace } from "../support/arbitraries.mjs";
import { valueFrom } from "../support/child.mjs";
import { mutate, mutations } from "../support/mutations.mjs";
import { shapes } from "../support/shapes.mjs";
import { random, says, trace, words } from "../support/traces.mjs";

const require = createRequire(import.meta.url);
const native = require("../../lib/binding.js")();
const gathered = require("../../lib/gather.js")(native);
const { CallKind } = native;

const RUNS = 1_000;
const RUNS_WITH_MODEL = 60;

/** The engine's own reader alone. */
const read = (scorer, kind, value) => scorer.call(kind, value);

/** Both leave it to their caller to begin. */
function begun(scorer, call) {
	scorer.start();
	return call;
}

/** What a call comes to: its report without times, its vector, or what it fails with. */
async function outcomeOf(submit, scorer, value, kind = CallKind.Explain) {
	try {
		const outcome = await begun(scorer, submit(scorer, kind, value));
		if (kind !== CallKind.Explain) return { outcome };
		const { times, ...report } = JSON.parse(outcome);
		return { report };
	} catch (thrown) {
		if (!(thrown instanceof native.Failure)) return { thrown };
		const { code, path, message } = thrown;
		return { failure: { code, path, message } };
	}
}

/** A value that enters in `log` which properties are read, and calls `onRead` at each. */
function watched(value, log, onRead = () => {}, place = "") {
	if (typeof value !== "object" || value === null) return value;
	return new Proxy(value, {
		get(target, key) {
			const inner = `${place}.${String(key)}`;
			log.push(inner);
			onRead(log.length);
			return watched(target[key], log, onRead, inner);
		},
	});
}

const off = () => new native.Scorer({ embedder: "off" });

const withId = fc
	.tuple(
		anyTrace,
		fc.oneof(
			fc.constantFrom(undefined, null, 5, "", "kp:1", "\ud800", "漢".repeat(341)),
			fc.integer({ min: 1020, max: 1030 }).map((length) => "i".repeat(length)),
			fc.integer({ min: 335, max: 345 }).map((length) => "漢".repeat(length)),
		),
	)
	.map(([value, id]) => ({ ...value, id }));

test("evaluateValue reads valid traces as the engine's own reader does", async () => {
	const scorer = off();
	const property = fc.asyncProperty(withId, async (value) => {
		const logs = [[], []];
		const outcome = await outcomeOf(gathered, scorer, watched(value, logs[0]));
		const expected = await outcomeOf(read, scorer, watched(value, logs[1]));
		assert.ok(expected.report, JSON.stringify(expected));
		assert.deepEqual(outcome, expected);
		assert.deepEqual(logs[0], logs[1]);
	});
	await fc.assert(property, { numRuns: RUNS });
});

test("evaluateValue reads damaged traces as the engine's own reader does", async (t) => {
	const scorer = off();
	const counts = { report: 0, failure: 0, thrown: 0 };
	const property = fc.asyncProperty(withId, mutations, async (valid, list) => {
		// A copy: generated traces share objects. And steps that mutations find.
		const copy = structuredClone(valid);
		copy.steps.push(...trace().steps, { type: "a", tool: { name: "b" } });
		const value = mutate(copy, list);
		const logs = [[], []];
		const outcome = await outcomeOf(gathered, scorer, watched(value, logs[0]));
		const expected = await outcomeOf(read, scorer, watched(value, logs[1]));
		assert.deepEqual(outcome, expected);
		assert.deepEqual(logs[0], logs[1]);
		counts[Object.keys(expected)[0]] += 1;
	});
	await fc.assert(property, { numRuns: RUNS });
	t.diagnostic(JSON.stringify(counts));
	assert.ok(Math.min(counts.report, counts.failure) > RUNS / 20);
});

test("evaluateValue rejects with what any read throws, and reads nothing after it", async () => {
	const scorer = off();
	const property = fc.asyncProperty(withId, fc.nat(), async (value, seed) => {
		const all = [];
		await begun(scorer, read(scorer, CallKind.Evaluate, watched(value, all)));
		const last = 1 + (seed % all.length);
		const mine = { thrown: "by a getter" };
		const log = [];
		const throwing = watched(value, log, (count) => {
			if (count === last) throw mine;
		});
		const { thrown } = await outcomeOf(gathered, scorer, throwing);
		assert.equal(thrown, mine);
		assert.deepEqual(log, all.slice(0, last));
	});
	await fc.assert(property, { numRuns: RUNS });
});

/** Traces whose text, id or names are at the limits of what is gathered. */
const extreme = {
	"10,000 steps": trace({
		steps: Array.from({ length: 10_000 }, (_, index) => ({
			type: `type ${index % 7}`,
			content: index % 3 ? `step ${index}` : null,
			tool: index % 2 ? { name: `tool ${index}` } : undefined,
		})),
	}),
	...Object.fromEntries(
		[0, 1, 65_530, 65_531, 65_532, 70_000].map((length) => {
			const name = "n".repeat(length);
			const steps = [{ type: name, tool: { name } }, { type: `${name}x` }];
			return [`names of ${length}`, trace({ domain: name, steps })];
		}),
	),
	"lengths that are surrogates": trace({
		domain: "\udc00".repeat(0xd800 - 4),
		steps: [
			{ type: "\ud83d", tool: { name: "\ude00" } },
			{ type: "\ude00\ud83d", tool: { name: "\ud83d\ude00" } },
		],
	}),
	"steps and fields of prototypes": Object.create(
		trace({
			steps: Object.setPrototypeOf(
				[Object.create({ type: "thought", content: "inherited" })],
				Array.prototype,
			),
		}),
	),
	"an object of another realm": vm.runInNewContext(`(${JSON.stringify(trace())})`),
	"objects in the place of strings": trace({
		objective: new String("boxed"),
	}),
	"a hole": trace({ steps: new Array(3) }),
	"a bigint": trace({ confidence: 1n }),
	"a symbol": trace({ steps: [{ type: Symbol("type") }] }),
	"a function": trace({ steps: [{ type: "a", tool() {} }] }),
};

for (const [name, value] of Object.entries(extreme)) {
	test(`evaluateValue reads as the engine's own reader does: ${name}`, async () => {
		const scorer = off();
		assert.deepEqual(
			await outcomeOf(gathered, scorer, value),
			await outcomeOf(read, scorer, value),
		);
	});
}

for (const [name, make] of Object.entries(shapes)) {
	test(`evaluateValue reads ${name} once`, async () => {
		const scorer = off();
		// The engine's own reader is not there to fall back on.
		const alone = {
			callGathered: (...given) => scorer.callGathered(...given),
			call: () => assert.fail("read again"),
			start: () => scorer.start(),
		};
		const [value] = [says("a short text")].map(make);
		const { report, thrown } = await outcomeOf(gathered, alone, value);
		assert.ok(report, thrown);
	});
}

test("evaluateValue checks what a proxy gives for the length of steps", async () => {
	const scorer = off();
	for (const length of [0, -1, 0.5, 1.5, 2, Number.NaN, "1", undefined, {}]) {
		const steps = new Proxy([{ type: "thought" }, { type: "a" }], {
			get: (target, key) => (key === "length" ? length : target[key]),
		});
		assert.deepEqual(
			await outcomeOf(gathered, scorer, trace({ steps })),
			await outcomeOf(read, scorer, trace({ steps })),
			String(length),
		);
	}
});

/** Long texts with what the window may stop at around the place where they are cut, 8,192. */
function longTexts() {
	const fillers = ["word ", "漢", "x", " ", "😀", "\ud83d", "e\u0301", "[SEP]"];
	const next = random(7);
	return fillers.flatMap((filler) =>
		[8189, 8190, 8191, 8192, 8193, 30_000].map((length) => {
			const start = filler.repeat(length / filler.length + 1).slice(0, length);
			const end = `😀 ${words(5, Math.floor(next() * 1000))}`;
			return next() < 0.5
				? trace({ objective: start + end })
				: trace({ steps: [{ type: "thought", content: start + end }] });
		}),
	);
}

/** Fails unless both ways see the same tokens in each text, and find the same nearest trace. */
async function assertSameTexts(values, options) {
	const [one, other] = [0, 1].map(() => new native.Scorer(options));
	for (const value of values) {
		const { report } = await outcomeOf(gathered, one, value);
		const expected = (await outcomeOf(read, other, value)).report;
		const what = value.task.objective.slice(0, 40);
		assert.ok(expected.text.fromMemo, `other tokens in ${what}`);
		report.text.fromMemo = true;
		assert.deepEqual(report, expected, what);
	}
}

test("evaluateValue sees the texts that the engine's own reader sees", async () => {
	const property = fc.asyncProperty(fc.array(withId), (values) => assertSameTexts(values, {}));
	await fc.assert(property, { numRuns: RUNS_WITH_MODEL });
});

test("evaluateValue cuts long texts where the engine's own reader does", async () => {
	await assertSameTexts(longTexts(), {});
	const several = {
		objective: words(800, 1),
		steps: says(words(800, 2)).steps,
	};
	await assertSameTexts([trace(several)], {});
});

test("evaluateValue reads whole texts as the engine's own reader does", async () => {
	const several = {
		objective: words(800, 1),
		steps: says(words(800, 2)).steps,
	};
	await assertSameTexts([trace(several), trace()], { longText: "whole" });
});

test("embed, peekValue and remember read traces as the engine's own reader does", async () => {
	const [one, other] = [0, 1].map(() => new native.Scorer({}));
	const value = { ...trace(), id: "kp:one" };
	for (const kind of [CallKind.Remember, CallKind.Peek, CallKind.Embed]) {
		assert.deepEqual(
			await outcomeOf(gathered, one, value, kind),
			await outcomeOf(read, other, value, kind),
		);
	}
	for (const kind of [CallKind.Remember, CallKind.Peek, CallKind.Embed]) {
		const { failure } = await outcomeOf(gathered, one, {}, kind);
		assert.equal(failure.path, "metadata");
	}
});

test("evaluateValue does not use what prototypes were given later", async () => {
	const [score, expected] = await valueFrom(
		async ({ scoring, input }) => {
			const expected = await new scoring.Scorer().evaluateValue(input);
			const scorer = new scoring.Scorer();
			const owners = {
				isArray: Array,
				fromCharCode: String,
				slice: String.prototype,
				concat: String.prototype,
				charCodeAt: String.prototype,
				[Symbol.toPrimitive]: String.prototype,
				[Symbol.iterator]: Array.prototype,
				call: Function.prototype,
				apply: Function.prototype,
				0: Array.prototype,
			};
			const saved = Reflect.ownKeys(owners).map((name) => [
				owners[name],
				name,
				Object.getOwnPropertyDescriptor(owners[name], name),
			]);
			let used;
			for (let index = 0; index < saved.length; index++) {
				const name = String(saved[index][1]);
				Object.defineProperty(saved[index][0], saved[index][1], {
					configurable: true,
					get() {
						used = name;
					},
					set() {
						used = name;
					},
				});
			}
			const promise = scorer.evaluateValue(input);
			const usedByCall = used;
			for (let index = 0; index < saved.length; index++) {
				const owner = saved[index][0];
				const name = saved[index][1];
				if (saved[index][2]) Object.defineProperty(owner, name, saved[index][2]);
				else delete owner[name];
			}
			if (usedByCall) throw new Error(`${usedByCall} was used`);
			return [await promise, expected];
		},
		{ input: trace({ objective: words(2000, 3) }) },
	);
	assert.equal(score, expected);
});
