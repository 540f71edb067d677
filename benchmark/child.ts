import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";
import { environmentOf, type Side } from "./sides.js";

/** A script in a process of its own, with messages as its only connection. */
export class Child {
	private readonly name: string;
	private readonly process: ChildProcess;

	/** Starts a compiled script of this folder for a side, which is its first argument. */
	constructor(script: string, side: Side, args: readonly string[] = []) {
		this.name = [script, side, ...args].join(" ");
		const file = path.join(__dirname, script);
		const env = environmentOf(side);
		this.process = fork(file, [side, ...args], { env });
	}

	/** The next message. Rejects when the process ends without one. */
	next<T>(): Promise<T> {
		return new Promise((resolve, reject) => {
			const ended = () => reject(new Error(`${this.name} gave no answer`));
			this.process.once("exit", ended);
			this.process.once("message", (message) => {
				this.process.off("exit", ended);
				resolve(message as T);
			});
		});
	}

	/** Sends a request and waits for the answer. */
	ask<T>(request: object): Promise<T> {
		const answer = this.next<T>();
		this.process.send(request);
		return answer;
	}

	/** Lets the process end, and waits until it has. */
	async end(): Promise<void> {
		const { process } = this;
		if (process.exitCode !== null || process.signalCode !== null) return;
		const ended = new Promise((resolve) => process.once("exit", resolve));
		if (process.connected) process.disconnect();
		await ended;
	}
}

/** Runs a script that sends one message and ends; `onMessage` is called when that has come. */
export async function runOnce<T>(
	script: string,
	side: Side,
	args: readonly string[] = [],
	onMessage?: () => void,
): Promise<T> {
	const child = new Child(script, side, args);
	try {
		const message = await child.next<T>();
		onMessage?.();
		return message;
	} finally {
		await child.end();
	}
}
