/** Load by processes that are killed at random, and what must hold afterwards. */
import { setTimeout as sleep } from "node:timers/promises";
import { askAll, ClientProcess } from "../../../packages/stores/__test__/scorer/processes.mjs";
import {
	assertReplayed,
	isFailed,
	isStored,
} from "../../../packages/stores/__test__/scorer/replay.mjs";
import { end, options as reading } from "../../../packages/stores/__test__/support/entries.mjs";

export const PROCESSES = 8;
const LONGEST_LIFE_MS = 4_000;

/** A window that old entries leave. */
const cache = { maxElements: 500 };
const LOAD = { width: 4 };

/** Follows a log from its start, since entries that nobody needs are deleted in time. */
class Follower {
	entries = [];
	#log;
	#after = null;

	constructor(log) {
		this.#log = log;
	}

	async catchUp() {
		const { header } = await this.#log.read(reading());
		for (;;) {
			const after = this.#after;
			const page = await this.#log.read(reading({ header, after }));
			if (page.reset && after !== null)
				throw new Error(`the log does not go on after entry ${after.seq}`);
			if (page.entries.length === 0) return;
			this.#after = end(page);
			for (const { seq, at, kind, id } of page.entries) this.entries.push({ seq, at, kind, id });
		}
	}
}

/**
 * Lets processes score for `ms`, while random ones are killed and replaced; `disturb(store)`, if given, is
 * called again and again. Throws unless the log is whole, has no call twice, and every answer that came from
 * it is that of one process.
 */
export async function underKills(store, { ms, draw, disturb }) {
	const all = [];
	// A call fails only where that is meant to happen.
	const options = { cache, storeTimeoutMs: disturb ? 1_000 : 10_000 };
	async function start() {
		const client = new ClientProcess();
		const name = `client${all.push(client)}`;
		await client.ask("open", store.opened, options);
		await client.ask("load", name, LOAD);
		return client;
	}

	const began = performance.now();
	const isOver = () => performance.now() - began >= ms;
	const running = await Promise.all(Array.from({ length: PROCESSES }, start));
	let kills = 0;
	async function killing(place) {
		while (!isOver()) {
			await sleep(draw.below(LONGEST_LIFE_MS));
			await running[place].kill();
			kills += 1;
			running[place] = await start();
		}
	}
	let disturbed = 0;
	async function disturbing() {
		while (disturb && !isOver()) {
			await disturb(store);
			disturbed += 1;
		}
	}
	const follower = new Follower(store.log);
	async function follow() {
		while (!isOver()) {
			await sleep(1_000);
			// The first to use a namespace creates it, which is not for the follower: its model is none.
			if (!all.some(({ answers }) => answers.some(isStored))) continue;
			// A server that is disturbed may not answer.
			await follower.catchUp().catch((error) => {
				if (!disturb) throw error;
			});
		}
	}
	try {
		await Promise.all([...[...running.keys()].map(killing), ...[disturbing(), follow()]]);
		await askAll(running, "stop");
	} finally {
		await Promise.all(all.map((client) => client.kill()));
	}
	await follower.catchUp();

	const { entries } = follower;
	const answers = all.flatMap((client) => client.answers);
	const failed = answers.filter(isFailed).length;
	if (!disturb && failed > 0) {
		const { reason } = answers.find(isFailed);
		throw new Error(`${failed} calls failed: ${reason}`);
	}
	const stored = await assertReplayed(entries, answers, { cache });
	const seconds = Math.round(ms / 1_000);
	return {
		...{ kills, seconds, stored, failed, disturbed },
		entries: entries.length,
	};
}
