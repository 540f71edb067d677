// Sources, stores and callers that act at drawn times: every iteration ends, and none keeps a core busy.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { sharing } from "../support/stores.mjs";
import { trace } from "../support/traces.mjs";

const { native } = createRequire(import.meta.url)("../../lib/native.js");

/** Ends a hang. */
const PATIENCE_MS = 60_000;

/** Few, so that most of their embeddings are known. */
const traces = Array.from({ length: 8 }, (_, index) => ({
	...trace({ objective: `Task ${index}` }),
	id: `kp:trace:${index}`,
}));

/** Each request of a scorer for a batch, with its length once it has one, in the context in which it was made. */
const requests = new AsyncLocalStorage();
const { nextBatch } = native.Scorer.prototype;
native.Scorer.prototype.nextBatch = function counted(limit) {
	const batch = { length: undefined };
	requests.getStore().push(batch);
	const promise = nextBatch.call(this, limit);
	promise.then(
		({ length }) => {
			batch.length = length;
		},
		() => {},
	);
	return promise;
};

const silent = () => new Promise(() => {});

const failure = new Error("from the source");

/** What a source, or the closing of one, does after its items. */
const ENDINGS = {
	returns: () => ({ done: true, value: undefined }),
	"returns later": () => turn({ done: true, value: undefined }),
	throws: () => {
		throw failure;
	},
	"throws later": async () => {
		await turn();
		throw failure;
	},
	"throws no error": () => {
		throw undefined;
	},
	"is silent": silent,
};
const THROWN = { throws: failure, "throws later": failure, "throws no error": undefined };

/** A source whose items come at once or later, and which ends as drawn. */
function sourceOf({ count, delays, ending, closing, isAsync, itemOf }) {
	let given = 0;
	const next = () => {
		if (given === count) return ENDINGS[ending]();
		const item = { done: false, value: itemOf(given) };
		const delay = delays[given++];
		return delay === 0 ? item : delay === 1 ? Promise.resolve(item) : turn(item);
	};
	return {
		[isAsync ? Symbol.asyncIterator : Symbol.iterator]: () => ({
			next,
			...(closing && { return: ENDINGS[closing] }),
		}),
	};
}

/** Stores that answer, fail or are silent. */
function storesOf() {
	const { open } = sharing();
	const failing = (fail) => ({ append: fail, read: fail, close: async () => {} });
	return {
		"a store": open(),
		"a store that throws": failing(() => {
			throw Object.create(null);
		}),
		"a store that rejects": failing(async () => {
			throw new Error("down");
		}),
		"a silent store": failing(silent),
	};
}

/** Makes a scorer whose requests for batches are in `batches`. */
function scorerWith(options) {
	const batches = [];
	return { scorer: requests.run(batches, () => new Scorer(options)), batches };
}

const scorers = { "no store": scorerWith({}) };
for (const [name, store] of Object.entries(storesOf()))
	scorers[name] = scorerWith({ store, storeTimeoutMs: 1, storeMode: "required" });

const line = (value) => `${JSON.stringify(value)}\n`;

/** What is iterated, given a source. */
const CONSUMERS = {
	evaluateValues: { isAsync: [true, false], itemOf: (value) => value },
	explainValues: { isAsync: [true, false], itemOf: (value) => value },
	evaluateLogs: { isAsync: [true], itemOf: line },
	"evaluateLogs().lines": { isAsync: [true], itemOf: line },
	importTraces: { isAsync: [true], itemOf: line },
};

const make = {
	explainValues: (scorer, source, options) => scorer.explainValues(source, options),
	evaluateLogs: (scorer, source, options) => scorer.evaluateLogs(source, options),
	"evaluateLogs().lines": (scorer, source, options) => scorer.evaluateLogs(source, options).lines(),
	importTraces: (_, source, options) => importTraces(source, options),
};

/** Draws a schedule. A silent one has an end by its caller. */
function drawn(store, draw) {
	const consumer = draw.of(Object.keys(CONSUMERS));
	const isAsync = draw.of(CONSUMERS[consumer].isAsync);
	const endings = Object.keys(ENDINGS).filter((name) => isAsync || !/later|silent/.test(name));
	const ending = draw.of(endings);
	const drawnCount = draw.of([0, 0, 1, 2, 3, draw.below(150)]);
	// A log without records is an error of its own.
	const count = /Logs|import/.test(consumer) ? drawnCount + 1 : drawnCount;
	const ways = ["to the end", "aborts", "leaves", "leaves while it waits"];
	const isValues = consumer === "evaluateValues";
	let way = draw.of(isValues ? ways.slice(0, 2) : ways);
	if (ending === "is silent" && way === "to the end") way = "aborts";
	// `for await` also waits for a source to close.
	const closings = endings.filter((name) => way === "aborts" || name !== "is silent");
	return {
		consumer,
		store,
		count,
		delays: Array.from({ length: count }, () => draw.below(isAsync ? 3 : 1)),
		ending,
		closing: draw.of([undefined, ...closings]),
		isAsync,
		way,
		/** The number of items, or of turns of the event loop, before the caller acts. */
		after: draw.of([0, 1, 2, draw.below(40)]),
		errors: draw.of([undefined, "collect"]),
	};
}

/** Iterates as the schedule says. */
async function iterated({ consumer, store, way, after, errors, ...rest }, signal, told) {
	const { itemOf } = CONSUMERS[consumer];
	const source = sourceOf({ ...rest, itemOf: (index) => itemOf(traces[index % traces.length]) });
	const options = { errors, signal };
	if (consumer === "evaluateValues")
		return scorers[store].scorer.evaluateValues(source, { ...options, onProgress: told });
	const items = make[consumer](scorers[store].scorer, source, options);
	let taken = 0;
	if (way === "leaves while it waits") {
		const waiting = items.next().catch(() => {});
		for (let turns = 0; turns < after; turns++) await turn();
		await items.return();
		return waiting;
	}
	for await (const _ of items) {
		taken += 1;
		told();
		if (way === "leaves" && taken > after) return undefined;
	}
	return undefined;
}

async function check(schedule) {
	const { way, after, store, consumer, ending, errors } = schedule;
	const controller = new AbortController();
	const reason = new Error("aborted");
	let taken = 0;
	const abort = () => controller.abort(reason);
	const isAborting = way === "aborts" || (way === "leaves" && ending === "is silent");
	const told = () => {
		taken += 1;
		if (isAborting && taken === after) abort();
	};
	const { scorer } = scorers[store];
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error("it hangs")), PATIENCE_MS);
	});
	const outcome = iterated(schedule, controller.signal, told).then(
		() => ({}),
		(error) => ({ error }),
	);
	if (isAborting) for (let turns = 0; turns < after; turns++) await turn();
	if (isAborting) abort();
	const idle = async () => {
		while (scorer.status().pending > 0) await turn();
	};
	const found = await Promise.race([outcome, late]);
	await Promise.race([idle(), late]);
	clearTimeout(timer);
	if ("error" in found && found.error !== reason) {
		const isOfStore = found.error?.code === "STORE_UNAVAILABLE";
		if (isOfStore) assert.match(store, /throws|rejects|silent|^a store$/);
		// An import has an error for what is none.
		else if (THROWN[ending] || found.error?.code !== "UNREADABLE")
			assert.ok(ending in THROWN && found.error === THROWN[ending], String(found.error));
	}
	if (way === "aborts" && ending === "is silent")
		assert.ok("error" in found, "an end without error");
	const isComplete = way === "to the end" && (store === "no store" || store === "a store");
	const isCollected = errors === "collect" && /Logs|import/.test(consumer);
	if (isComplete && found.error?.code !== "STORE_UNAVAILABLE")
		assert.equal("error" in found, ending in THROWN && !isCollected, "the end of the source");
}

test("iterations end as their source, their store and their caller say", async () => {
	let number = 0;
	const runAll = async (store) => {
		const { batches } = scorers[store];
		/** A batch without calls follows on a call that was aborted, and on the end of a wait. */
		let most = 0;
		while (number < repeats(2000)) {
			const schedule = drawn(store, draws(seed + number++));
			await repeatable(JSON.stringify(schedule), () => check(schedule));
			most += schedule.count + 4;
		}
		const empty = batches.filter(({ length }) => length === 0).length;
		assert.ok(empty <= most, `${empty} of ${batches.length} batches without calls`);
	};
	await Promise.all(Object.keys(scorers).map(runAll));
});

test("a scorer with a store asks for no batch while a source is silent", async () => {
	const { scorer, batches } = scorerWith({ store: sharing().open() });
	const source = sourceOf({
		count: 1,
		delays: [2],
		ending: "is silent",
		isAsync: true,
		itemOf: () => line(traces[0]),
	});
	const rows = scorer.evaluateLogs(source);
	await rows.next();
	const waiting = rows.next();
	await turn();
	batches.length = 0;
	await new Promise((resolve) => setTimeout(resolve, 200));
	assert.ok(batches.length <= 1, `${batches.length} requests`);
	// Other calls are still served.
	assert.equal(typeof (await scorer.evaluateValue(traces[1])), "number");
	await rows.return();
	assert.equal((await waiting).done, true);
	assert.equal(scorer.status().pending, 0);
});
