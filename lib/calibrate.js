/** Calibration of scores, which types/calibrate.d.ts documents. */
const { Buffer } = require("node:buffer");
const { ScoringError, errorsOf } = require("./errors.js");
const { checkOptions, invalidOption } = require("./options.js");
const { onAbort, until } = require("./signals.js");

const OPTIONS = ["target", "fit", "first", "level", "replicates", "seed", "profiles", "signal"];

const CONTEXT = ["title", "language", "settings"];

/** The rows as lines of JSON. */
function linesOf(rows) {
	if (typeof rows?.[Symbol.iterator] !== "function" || typeof rows === "string")
		throw invalidOption("rows", "an array of rows", typeof rows);
	const lineOf = (row) => Buffer.from(`${JSON.stringify(row) ?? null}\n`);
	return Buffer.concat(Array.from(rows, lineOf));
}

function objectOf(options, known) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", String(options));
	checkOptions(options, known);
	return options;
}

/** Makes the functions over the native ones. */
module.exports = function calibrationOf(native) {
	const { toError } = errorsOf(native);

	async function answerOf(call) {
		let answer;
		try {
			answer = await call();
		} catch (thrown) {
			throw toError(thrown);
		}
		const { value, error } = JSON.parse(answer);
		if (error) throw new ScoringError(error.message, error);
		return value;
	}

	async function calibrate(rows, options = {}) {
		const { profiles, signal, ...rest } = objectOf(options, OPTIONS);
		const { target } = rest;
		if (target !== undefined && Object.keys(target ?? {}).length !== 1)
			throw invalidOption(
				"target",
				"one of threshold, share and precision",
				JSON.stringify(target),
			);
		const lines = linesOf(rows);
		const asked = JSON.stringify(rest);
		if (signal?.aborted) throw signal.reason;
		const handle = new native.CallHandle();
		const release = signal && onAbort(signal, () => handle.abort());
		const calibrated = answerOf(() => native.calibrate(lines, asked, { profiles }, handle));
		// It may still wait for another calibration.
		return (signal ? until(signal, calibrated) : calibrated).finally(release);
	}

	async function calibrationReport(calibration, rows, options = {}) {
		const { settings = {}, ...rest } = objectOf(options, CONTEXT);
		const context = { ...rest, settings: Object.entries(settings) };
		const lines = linesOf(rows);
		return answerOf(() =>
			native.calibrationReport(
				JSON.stringify(calibration) ?? "null",
				lines,
				JSON.stringify(context),
			),
		);
	}

	return { calibrate, calibrationReport };
};
