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

/** Makes calls endlessly, a few at a time, some with a repeated text or after a peek; emits each answer. */
export class Load extends EventEmitter {
	answers = [];
	#isStopped = false;
	#lanes;

	constructor(scorer, name, { width = 4, peeks = false } = {}) {
		super();
		let made = 0;
		const lane = async () => {
			while (!this.#isStopped) {
				const id = `words ${(made * 7) % 40} ${name} ${made++}`;
				if (peeks) await scorer.evaluateValue(traceOf(id), { remember: false });
				this.answers.push(await answerOf(scorer, id));
				this.emit("answer", this.answers.at(-1));
				// While the store is not asked, answers come at once.
				await sleep(8);
			}
		};
		this.#lanes = Promise.all(Array.from({ length: width }, lane));
	}

	/** Waits for the next answer. */
	async until(holds) {
		const from = this.answers.length;
		while (!this.answers.slice(from).some(holds)) await once(this, "answer");
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

/**
 * Replays all calls of a store, from the first one, in a scorer without a store. Fails unless the entries are
 * numbered without gaps, in the order of time, each id was added once, every answer from the store equals that
 * of the replay, bit for bit, and every other one is neutral or the error of an unavailable store. Returns the
 * number of answers from the store.
 */
export async function assertReplayed(entries, answers, options) {
	const alone = new Scorer({ ...SCORER, ...options });
	const expected = [];
	for (const [index, { seq, at, kind, id }] of entries.entries()) {
		assert.equal(Number(seq), index + 1);
		assert.ok(at >= (entries[index - 1]?.at ?? 0), `the time of entry ${seq}`);
		expected.push(kind === "add" ? await answerOf(alone, id) : { removed: await alone[kind](id) });
	}
	alone.close();
	const added = entries.filter(({ kind }) => kind === "add");
	assert.equal(new Set(added.map(({ id }) => id)).size, added.length);

	const stored = answers.filter(isStored);
	for (const { id, seq, score, maxSimilarity, nearest } of stored) {
		const { source, seq: _, reason, ...same } = expected[seq - 1] ?? {};
		assert.deepStrictEqual({ id, score, maxSimilarity, nearest }, same, `entry ${seq}`);
	}
	assert.equal(new Set(stored.map(({ seq }) => seq)).size, stored.length);
	for (const answer of answers.filter((answer) => !isStored(answer))) {
		const { id, source, score, maxSimilarity, seq, reason, error } = answer;
		if (error) {
			const { name, code, message } = error;
			assert.deepEqual([name, code], ["ScoringError", "STORE_UNAVAILABLE"], message);
			assert.ok(message);
		} else {
			const neutral = scoreWith(traceOf(id), { maxSimilarity: null });
			const expected = ["no-store", neutral.score, null, null];
			assert.deepEqual([source, score, maxSimilarity, seq], expected);
			assert.ok(reason);
		}
	}
	return stored.length;
}
