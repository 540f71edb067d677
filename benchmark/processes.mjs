/** The processes of the sides, and their turns. */

import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { environmentOf } from "./sides.mjs";

/** A script in a process of its own, with messages as its only connection. */
export class Child {
	/** Starts a script of this folder for a side, which is its first argument. */
	constructor(script, side, args = []) {
		this.name = [script, side, ...args].join(" ");
		const file = fileURLToPath(new URL(script, import.meta.url));
		const env = environmentOf(side);
		this.process = fork(file, [side, ...args], { env });
	}

	/** The next message. Rejects when the process ends without one. */
	next() {
		return new Promise((resolve, reject) => {
			const ended = () => reject(new Error(`${this.name} gave no answer`));
			this.process.once("exit", ended);
			this.process.once("message", (message) => {
				this.process.off("exit", ended);
				resolve(message);
			});
		});
	}

	/** Sends a request and waits for the answer. */
	ask(request) {
		const answer = this.next();
		this.process.send(request);
		return answer;
	}

	/** Lets the process end, and waits until it has. */
	async end() {
		const { process } = this;
		if (process.exitCode !== null || process.signalCode !== null) return;
		const ended = new Promise((resolve) => process.once("exit", resolve));
		if (process.connected) process.disconnect();
		await ended;
	}
}

/** Runs a script that sends one message and ends; `onMessage` is called when that has come. */
export async function runOnce(script, side, args = [], onMessage) {
	const child = new Child(script, side, args);
	try {
		const message = await child.next();
		onMessage?.();
		return message;
	} finally {
		await child.end();
	}
}

/**
 * Milliseconds between turns. The threads of the ONNX Runtime in transformers.js spin after a run:
 * the other side's next trace was found to suffer from that 10 ms later, and not after 25.
 */
const PAUSE = 100;

/**
 * Lets the sides work in turns, never two at once; `check` sees what they did in one round. Another
 * one begins each round, so that a drift of the machine meets all.
 */
export async function inTurns(sides, rounds, work, check) {
	const all = new Map(sides.map((side) => [side, []]));
	for (let round = 0; round < rounds; round++) {
		const first = round % sides.length;
		const results = new Map();
		for (const side of [...sides.slice(first), ...sides.slice(0, first)]) {
			const result = await work(side, round);
			results.set(side, result);
			all.get(side)?.push(result);
			await sleep(PAUSE);
		}
		check?.(results, round);
	}
	return all;
}
