/** Processes that measure alternately. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A script in a separate process, connected only by messages. */
export class Child {
	/** Starts a script of this folder; `options` are those of `fork`. */
	constructor(script, args = [], options = {}) {
		this.name = [script, ...args].join(" ");
		const file = fileURLToPath(new URL(script, import.meta.url));
		this.process = fork(file, args, options);
		this.exited = once(this.process, "exit");
	}

	/** The next result. Rejects when the process fails or ends without one. */
	async next() {
		const silence = this.exited.then(() => [{ error: `${this.name} gave no answer` }]);
		const [{ result, error }] = await Promise.race([once(this.process, "message"), silence]);
		if (error) throw new Error(error);
		return result;
	}

	/** Sends a request, which {@link serve} takes, and waits for the result. */
	ask(op, request) {
		const answer = this.next();
		this.process.send({ op, ...request });
		return answer;
	}

	/** Ends the process, and waits for its exit. */
	async end() {
		if (this.process.connected) this.process.disconnect();
		await this.exited;
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

/**
 * The pause between turns in milliseconds. The threads of ONNX Runtime in transformers.js spin
 * after a run, which slowed the next trace of the other side after 10 ms, but not after 25.
 */
const PAUSE = 100;

/**
 * Runs the sides alternately, one at a time, and returns the results of each; `check` gets those of each
 * round. Another side begins each round, so that a drift of the machine affects all.
 */
export async function inTurns(sides, rounds, work, check) {
	const all = Object.fromEntries(sides.map((side) => [side, []]));
	for (let round = 0; round < rounds; round++) {
		const first = round % sides.length;
		const results = {};
		for (const side of [...sides.slice(first), ...sides.slice(0, first)]) {
			results[side] = await work(side, round);
			all[side].push(results[side]);
			await sleep(PAUSE);
		}
		check?.(results, round);
	}
	return all;
}
