/** Processes that measure alternately. */

import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A script in a separate process, connected only by messages. */
export class Child {
	/** Starts a script of this folder; `options` are those of `fork`. */
	constructor(script, args = [], options = {}) {
		this.name = [script, ...args].join(" ");
		const file = fileURLToPath(new URL(script, import.meta.url));
		this.process = fork(file, args, options);
	}

	/** The next result. Rejects when the process fails or ends without one. */
	next() {
		return new Promise((resolve, reject) => {
			const ended = () => reject(new Error(`${this.name} gave no answer`));
			this.process.once("exit", ended);
			this.process.once("message", ({ result, error }) => {
				this.process.off("exit", ended);
				if (error) reject(new Error(error));
				else resolve(result);
			});
		});
	}

	/** Sends a request, which {@link serve} takes, and waits for the result. */
	ask(op, request) {
		const answer = this.next();
		this.process.send({ op, ...request });
		return answer;
	}

	/** Ends the process, and waits for its exit. */
	async end() {
		const { process } = this;
		if (process.exitCode !== null || process.signalCode !== null) return;
		const ended = new Promise((resolve) => process.once("exit", resolve));
		if (process.connected) process.disconnect();
		await ended;
	}
}

/** In a {@link Child}: runs the operations that the parent requests, until the parent is gone. */
export function serve(operations) {
	process.on("message", async ({ op, ...request }) => {
		try {
			process.send({ result: await operations[op](request) });
		} catch (error) {
			process.send({ error: error.stack });
		}
	});
	process.once("disconnect", () => process.exit());
}

/** The elements, rotated by the round. */
export function turned(all, round) {
	const first = round % all.length;
	return [...all.slice(first), ...all.slice(0, first)];
}

/**
 * The pause between turns in milliseconds. The threads of ONNX Runtime in transformers.js spin
 * after a run, which slowed the next trace of the other side after 10 ms, but not after 25.
 */
const PAUSE = 100;

/**
 * Runs the sides alternately, one at a time; `check` gets the results of each round. Another side
 * begins each round, so that a drift of the machine affects all.
 */
export async function inTurns(sides, rounds, work, check) {
	const all = Object.fromEntries(sides.map((side) => [side, []]));
	for (let round = 0; round < rounds; round++) {
		const results = {};
		for (const side of turned(sides, round)) {
			results[side] = await work(side, round);
			all[side].push(results[side]);
			await sleep(PAUSE);
		}
		check?.(results, round);
	}
	return all;
}
