/** Waits for the next result, the next input or the end, whichever comes first. */
const { ignore } = require("./signals.js");

/** The failure of a waiter whose iterator was left. */
const OVER = Symbol("over");

/**
 * Waits for several kinds of work at once. Nothing is missed: what happens between two waits ends the second one, and
 * after a failure every wait rejects.
 */
class Waiter {
	#stop = new AbortController();
	#failure;
	#isWoken = false;
	/** @type {(value?: any) => void} Ends the present wait. */
	#resume = ignore;

	/** Aborted by the first failure. */
	get signal() {
		return this.#stop.signal;
	}

	/**
	 * Starts a task: when it `isDone`, its `value` is the result of `work`. If `work` throws, at once or later, it
	 * `hasFailed`, and so has the waiter.
	 */
	start(work) {
		const task = { isDone: false, hasFailed: false, value: undefined };
		const run = async () => {
			try {
				task.value = await work();
				task.isDone = true;
				this.#wake();
			} catch (error) {
				task.hasFailed = true;
				this.fail(error);
			}
		};
		void run();
		return task;
	}

	/** Ends the present wait, or else the next one. */
	#wake() {
		this.#isWoken = true;
		this.#resume();
	}

	/** Only the first failure counts. */
	fail(error) {
		if (this.#failure) return;
		this.#failure = { error };
		this.#stop.abort(error);
		this.#wake();
	}

	throwIfFailed() {
		if (this.#failure) throw this.#failure.error;
	}

	/** Waits for a task that is done since the last wait. One wait at a time. */
	async wait() {
		this.throwIfFailed();
		if (!this.#isWoken)
			await new Promise((resolve) => {
				this.#resume = resolve;
			});
		this.#isWoken = false;
		this.throwIfFailed();
	}

	async result(task) {
		this.throwIfFailed();
		while (!task.isDone) await this.wait();
		return task.value;
	}

	/**
	 * An iterator over a generator that waits here, whose `return` ends a pending wait too. `leave` closes what an
	 * unstarted generator would not.
	 */
	iterator(generator, leave = ignore) {
		const next = async () => {
			try {
				return await generator.next();
			} catch (error) {
				if (error !== OVER) throw error;
				return { done: true, value: undefined };
			}
		};
		return {
			next,
			return: async (value) => {
				this.fail(OVER);
				await leave();
				return generator.return(value);
			},
			[Symbol.asyncIterator]() {
				return this;
			},
		};
	}
}

module.exports = { Waiter };
