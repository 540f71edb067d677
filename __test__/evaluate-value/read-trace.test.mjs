/** How `lib/trace.js` reads traces, compared with the reader of JSON: the same scores and errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { anyTrace } from "../support/arbitraries.mjs";
import { valueFrom } from "../support/child.mjs";
import { repeats } from "../support/draws.mjs";
import { mutate, mutations } from "../support/mutations.mjs";
import { random, trace, words } from "../support/traces.mjs";

const RUNS = repeats(300);

const off = () => new Scorer({ embedder: "off" });

/** A value that records the properties read in `log`, and calls `onRead` for each. */
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

/** A value as JSON, as a line of a log of known format; null if JSON cannot express it. */
function plain(value) {
	try {
		return { ...JSON.parse(JSON.stringify(value)), "@type": "ReasoningTrace" };
	} catch {
		return null;
	}
}

const rowOf = ({ id, domain, score, dimensions, error }) =>
	error ? { message: error.message } : { id, domain, score, dimensions };

/** Fails unless values are read like the lines of a log. Returns the number of refused ones. */
async function assertReadAsJson(values) {
	const text = values.map((value) => JSON.stringify(value)).join("\n");
	const source = { name: "log", data: text };
	const options = { errors: "collect", format: "reasoning-trace" };
	const scorer = off();
	let line = 0;
	let refused = 0;
	for await (const item of scorer.evaluateLogs(source, options)) {
		// A log has U+FFFD for lone surrogates, also in names.
		const value = JSON.parse(JSON.stringify(values[line]), (_, part) =>
			typeof part === "string" ? part.toWellFormed() : part,
		);
		line += 1;
		const found = await scorer.explainValue(value).then(
			({ score, dimensions }) => ({
				id: typeof value.id === "string" ? value.id : null,
				domain: value.metadata.task_domain,
				score,
				dimensions,
			}),
			({ message }) => ({ message: `log:${line}: ${message}` }),
		);
		if (item.error) refused += 1;
		assert.deepEqual(found, rowOf(item), JSON.stringify(value).slice(0, 1000));
	}
	assert.equal(line, values.length);
	return refused;
}

const isShort = ({ id }) => typeof id !== "string" || Buffer.byteLength(id) <= 1024;

/** Traces without steps are skipped in logs; ids that are too long are null in rows. */
const sample = (arbitrary) =>
	fc
		.sample(arbitrary, RUNS)
		.map(plain)
		.filter((value) => value !== null && isShort(value) && value.steps?.length !== 0);

test("evaluateValue reads valid traces as those in a log", async () => {
	assert.equal(await assertReadAsJson(sample(withId)), 0);
});

test("evaluateValue reads damaged traces as those in a log", async () => {
	const damaged = fc.tuple(withId, mutations).map(([valid, list]) => {
		// A copy, because generated traces share objects; with steps for mutations.
		const copy = structuredClone(valid);
		copy.steps.push(...trace().steps, { type: "a", tool: { name: "b" } });
		const value = mutate(copy, list);
		return typeof value === "object" ? value : copy;
	});
	const values = sample(damaged);
	assert.ok((await assertReadAsJson(values)) > values.length / 20);
});

test("evaluateValue reads names of any length", async () => {
	const lengths = [0, 1, 65_529, 65_530, 65_531, 65_535, 65_536, 200_000];
	await assertReadAsJson(
		lengths.map((length) => {
			const name = "n".repeat(length);
			const steps = [{ type: name, tool: { name } }, { type: `${name}x` }];
			return plain(trace({ domain: name, steps }));
		}),
	);
	const surrogates = [
		{ type: "\ud83d", tool: { name: "\ude00" } },
		{ type: "\ude00\ud83d", tool: { name: "\ud83d\ude00" } },
	];
	const { dimensions } = await off().explainValue(
		trace({ domain: "\udc00".repeat(0xd800 - 5), steps: surrogates }),
	);
	assert.equal(dimensions.toolDiversity, 1);
});

test("evaluateValue tells lone surrogates in types and names of tools apart", async () => {
	const lone = ["\ud800", "\ud801", "\ufffd", "\ud800a", "\ud800\udc00", "é"];
	const distinct = ["a", "b", "c", "d", "e", "f"];
	// Four of each, so that no dimension is at its limit.
	const [found, expected] = await Promise.all(
		[lone, distinct].map((names) => {
			const steps = names.flatMap((name) => Array(4).fill({ type: name, tool: { name } }));
			return off().explainValue(trace({ steps }));
		}),
	);
	assert.deepEqual(found.dimensions, expected.dimensions);
});

test("evaluateValue rejects with what any read throws, and reads nothing after it", async () => {
	const scorer = off();
	// Others are refused before all is read.
	const valid = withId.filter(({ id }) => typeof id !== "string" || id.isWellFormed());
	const property = fc.asyncProperty(valid, fc.nat(), async (value, seed) => {
		const all = [];
		await scorer.evaluateValue(watched(value, all));
		const last = 1 + (seed % all.length);
		const mine = { thrown: "by a getter" };
		const log = [];
		const throwing = watched(value, log, (count) => {
			if (count === last) throw mine;
		});
		await assert.rejects(scorer.evaluateValue(throwing), (reason) => reason === mine);
		assert.deepEqual(log, all.slice(0, last));
	});
	await fc.assert(property, { numRuns: RUNS });
});

test("evaluateValue reads every field that counts once, and no other", async () => {
	const tool = { name: "a", version: 1 };
	const steps = [{ step_id: 0, type: "tool_call", content: "x", tool, input: {} }];
	const read = [];
	await off().evaluateValue(watched(trace({ steps }), read));
	const step = ["content", "tool", "tool.name", "type"].map((key) => `.steps.0.${key}`);
	const outer = ["id", "metadata", "outcome", "steps", "steps.0", "steps.length", "task"];
	const inner = [
		"metadata.success",
		"metadata.task_domain",
		"outcome.confidence",
		"task.objective",
	];
	const fields = [...outer, ...inner].map((key) => `.${key}`);
	assert.deepEqual(read.sort(), [...fields, ...step].sort());
});

/** Texts around the length from which strings are handed over one by one. */
function longTexts() {
	const fillers = ["word ", "漢", "x", " ", "😀", "\ud83d", "e\u0301", "[SEP]"];
	const next = random(7);
	return fillers.flatMap((filler) =>
		[8189, 8190, 8191, 8192, 8193, 17_000].map((length) => {
			const start = filler.repeat(length / filler.length + 1).slice(0, length);
			return `${start}😀 ${words(5, Math.floor(next() * 1000))}`;
		}),
	);
}

for (const kind of ["text", "words"])
	test(`evaluateValue reads one text, however it is divided: novelty "${kind}"`, async () => {
		const scorer = new Scorer({ novelty: kind, precision: "fast" });
		const [said, last] = [words(30, 1), words(900, 2)];
		const step = (content) => ({ type: "observation", content });
		for (const text of longTexts()) {
			const divided = [
				trace({ objective: `${text} ${said} ${last}`, steps: [] }),
				trace({ objective: text, steps: [said, last].map(step) }),
				trace({ objective: `${text} ${said}`, steps: [step(last)] }),
			];
			const reports = [];
			for (const value of divided) {
				const { text } = await scorer.explainValue(value);
				reports.push([{ ...text, fromMemo: true }, await scorer.embed(value)]);
			}
			assert.deepEqual(reports[1], reports[0]);
			assert.deepEqual(reports[2], reports[0]);
		}
		const several = [8000, 100, 9000, 50, 40].map((count, seed) => words(count, seed));
		const joined = trace({ objective: several.join(" "), steps: [] });
		const [objective, ...contents] = several;
		await scorer.evaluateValue(joined);
		const { novelty } = await scorer.explainValue(trace({ objective, steps: contents.map(step) }));
		assert.ok(novelty.maxSimilarity > 0.999999);
	});

test("evaluateValue ignores later changes of prototypes", async () => {
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
