/** Client processes, each with its own scorer; `client.mjs` has their tasks. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const CLIENT = fileURLToPath(new URL("client.mjs", import.meta.url));

export class ClientProcess {
	/** The answers of `load`. */
	answers = [];
	#child = fork(CLIENT, { execArgv: ["--disable-warning=KNOWLEDGEPULSE_NO_STORE"] });
	#asked = new Map();
	#made = 0;
	#ended;

	constructor() {
		this.#ended = once(this.#child, "close");
		this.#child.on("message", ({ number, result, failure, answer }) => {
			if (answer) return this.answers.push(answer);
			const { resolve, reject } = this.#asked.get(number);
			this.#asked.delete(number);
			if (failure) reject(new Error(failure));
			else resolve(result);
		});
		this.#child.on("close", (code, signal) => {
			const error = new Error(`a client ended with ${signal ?? code}`);
			for (const { reject } of this.#asked.values()) reject(error);
		});
	}

	/** Runs a task; returns its result. */
	ask(task, ...parameters) {
		const number = ++this.#made;
		return new Promise((resolve, reject) => {
			this.#asked.set(number, { resolve, reject });
			this.#child.send({ number, task, parameters });
		});
	}

	/** Kills it, like a crash. */
	async kill() {
		this.#child.kill("SIGKILL");
		await this.#ended;
	}
}

/** Runs a task in all clients at once; returns the results. */
export const askAll = (clients, task, ...parameters) =>
	Promise.all(clients.map((client) => client.ask(task, ...parameters)));
