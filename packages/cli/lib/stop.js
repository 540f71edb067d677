/** Ctrl-C: the first ends the run in order, a second one at once. */
const { constants } = require("node:os");

class Stop {
	#controller = new AbortController();
	#signal;
	#onSignal = (name) => {
		this.#signal = name;
		process.off("SIGINT", this.#onSignal).off("SIGTERM", this.#onSignal);
		this.#controller.abort();
	};

	constructor() {
		process.on("SIGINT", this.#onSignal).on("SIGTERM", this.#onSignal);
	}

	/** Aborted when no more is to be read. */
	get signal() {
		return this.#controller.signal;
	}

	/** Whether the user has asked for it. */
	get isInterrupted() {
		return this.#signal !== undefined;
	}

	/** The number of the signal that came. */
	get number() {
		return constants.signals[this.#signal];
	}

	/** Reads no more, because nobody needs it. */
	end() {
		this.#controller.abort();
	}
}

module.exports = { Stop };
