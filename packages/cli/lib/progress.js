/** Progress on standard error, if that is a terminal. */
const { Format, Presets, SingleBar } = require("cli-progress");
const { count, duration } = require("./style.js");

/** How many traces there are, how fast they come, and how long it will take. */
class Progress {
	#bar;
	#traces = 0;
	#began = performance.now();
	#share;

	/** @param share Returns which part of the work is done, given the number of traces; undefined if that is not known. */
	constructor(isWanted, share = () => undefined) {
		this.#share = share;
		if (!isWanted || process.stderr.isTTY !== true) return;
		const options = {
			stream: process.stderr,
			format: (options) => this.#format(options),
			barsize: 20,
			fps: 5,
			clearOnComplete: true,
			hideCursor: null,
			gracefulExit: false,
			linewrap: true,
		};
		this.#bar = new SingleBar(options, Presets.shades_classic);
		this.#bar.start(1, 0);
	}

	add(traces = 1) {
		this.#traces += traces;
		this.#bar?.update(0);
	}

	stop() {
		this.#bar?.stop();
		this.#bar = undefined;
	}

	#format(options) {
		const elapsed = performance.now() - this.#began;
		const rate = Math.round(this.#traces / (elapsed / 1000));
		const text = `${count(this.#traces, "trace")}  ${rate.toLocaleString("en")}/s`;
		const share = this.#share(this.#traces);
		if (share === undefined) return `${text}  ${duration(elapsed)}`;
		const left = share > 0 ? (elapsed / share) * (1 - share) : undefined;
		const eta = left === undefined ? "" : `  ${duration(left)} left`;
		return `${Format.BarFormat(share, options)} ${Math.floor(100 * share)} %  ${text}${eta}`;
	}
}

/**
 * Which part of sources with so many bytes is done when `traces` of them have come out; `report` is
 * that of reading them, which is ahead.
 */
function shareOf({ inputs }, bytes, traces) {
	if (bytes === undefined) return undefined;
	const sum = (name) => inputs.reduce((total, input) => total + input[name], 0);
	const found = sum("traces");
	return found === 0 || bytes === 0 ? 0 : Math.min(1, (sum("bytes") / bytes) * (traces / found));
}

module.exports = { Progress, shareOf };
