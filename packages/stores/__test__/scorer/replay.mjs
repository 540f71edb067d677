/** Calls that can be replayed from the entries of a store, and their replay by one scorer without a store. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Scorer, scoreWith } from "@knowledgepulse/scoring";
import { named } from "../../../../__test__/support/stores.mjs";
import { words } from "../../../../__test__/support/traces.mjs";
import { readAll, options as reading } from "../support/entries.mjs";

/** Options of all scorers of these tests, because there are many at a time. */
export const SCORER = { threads: 1, precision: "fast" };

/** The trace of an id such as "words 5 …": a short text, the same for the same number. */
export function traceOf(id) {
	const [, number] = id.split(" ");
	return named(id, words(5 + (number % 7), number));
}

/** Scores the trace of an id; returns the report or the error. */
export async function answerOf(scorer, id) {
	try {
		const { score, novelty } = await scorer.explainValue(traceOf(id));
		return { id, score, ...novelty };
	} catch ({ name, code, message }) {
		return { id, error: { name, code, message } };
	}
}

/** Makes calls endlessly, a few at a time, some with a repeated text. */
export class Load {
	answers = [];
	#events = new EventEmitter();
	#isStopped = false;
	#lanes;

	constructor(scorer, name, { width = 4, onAnswer } = {}) {
		let made = 0;
		const lane = async () => {
			while (!this.#isStopped) {
				const id = `words ${(made * 7) % 40} ${name} ${made++}`;
				const answer = await answerOf(scorer, id);
				this.answers.push(answer);
				onAnswer?.(answer);
				this.#events.emit("answer");
				// While the store is not asked, answers come at once.
				await sleep(8);
			}
		};
		this.#lanes = Promise.all(Array.from({ length: width }, lane));
	}

	/** Waits for the next answer. */
	async until(holds) {
		const from = this.answers.length;
		while (!this.answers.slice(from).some(holds)) await once(this.#events, "answer");
	}

	/** Waits until every call has settled. */
	async stop() {
		this.#isStopped = true;
		await this.#lanes;
	}
}

export const isStored = ({ source }) => source === "store";
export const isFailed = ({ source, error }) =>
	source === "no-store" || error?.code === "STORE_UNAVAILABLE";

/** All entries of a store, whatever its header. */
export async function entriesOf(store) {
	const { header } = await store.read(reading());
	return readAll(store, { header });
}

/** Fails unless entries are numbered from `first` without gaps, in the order of time, and each id was added once. */
function assertWhole(entries, first = 1) {
	for (const [index, { seq, at }] of entries.entries()) {
		assert.equal(Number(seq), first + index);
		assert.ok(at >= (entries[index - 1]?.at ?? 0), `the time of entry ${seq}`);
	}
	const added = entries.filter(({ kind }) => kind === "add");
	assert.equal(new Set(added.map(({ id }) => id)).size, added.length);
}

/**
 * Replays all calls of a store, from the first one, in a scorer without a store. Fails unless every answer from
 * the store equals that of the replay, bit for bit, and every other one is neutral or the error of an unavailable
 * store. Returns the number of answers from the store.
 */
export async function assertReplayed(entries, answers, options) {
	assertWhole(entries);
	const alone = new Scorer({ ...SCORER, ...options });
	const expected = [];
	for (const { kind, id } of entries) {
		if (kind === "add") expected.push(await answerOf(alone, id));
		else expected.push({ removed: await alone[kind](id) });
	}
	const numbered = new Set();
	for (const answer of answers) {
		const { id, seq, score, maxSimilarity, nearest, reason, error } = answer;
		if (isStored(answer)) {
			const found = { id, score, maxSimilarity, nearest };
			const { source, seq: _, reason: __, ...same } = expected[seq - 1] ?? {};
			assert.deepStrictEqual(found, same, `entry ${seq}`);
			numbered.add(seq);
		} else if (error) {
			const { name, code } = error;
			assert.deepEqual(
				{ name, code },
				{ name: "ScoringError", code: "STORE_UNAVAILABLE" },
				error.message,
			);
			assert.ok(error.message);
		} else {
			const neutral = scoreWith(traceOf(id), { maxSimilarity: null });
			assert.deepEqual(
				[answer.source, score, maxSimilarity, seq],
				["no-store", neutral.score, null, null],
			);
			assert.ok(reason);
		}
	}
	alone.close();
	assert.equal(numbered.size, answers.filter(isStored).length);
	return numbered.size;
}
