/** Calibration of scores, which types/calibrate.d.ts documents. */
const { Buffer } = require("node:buffer");
const { fail, native } = require("./native.js");
const { check, checkOptions, invalidOption, kinds, own, readValue } = require("./options.js");
const { onAbort, until } = require("./signals.js");

const OPTIONS = ["target", "fit", "first", "level", "replicates", "seed", "profiles", "signal"];

function linesOf(rows) {
	const isIterable = typeof rows?.[Symbol.iterator] === "function" && typeof rows !== "string";
	check(isIterable, "rows", "an array of rows", rows);
	const lineOf = (row) => Buffer.from(`${JSON.stringify(row) ?? null}\n`);
	return Buffer.concat(Array.from(rows, lineOf));
}

exports.calibrate = async function calibrate(rows, options = {}) {
	checkOptions(options, OPTIONS);
	// The addon checks the rest.
	const { profiles, signal, ...rest } = own(options);
	const weights = readValue(kinds.profiles, "profiles", profiles);
	const { target } = rest;
	if (target !== undefined && Object.keys(target ?? {}).length !== 1)
		throw invalidOption("target", "one of threshold, share and precision", JSON.stringify(target));
	const lines = linesOf(rows);
	const asked = JSON.stringify(rest);
	const handle = new native.CallHandle();
	const release = onAbort(signal, () => handle.abort());
	try {
		const calibrating = native.calibrate(lines, asked, weights, handle);
		// It may still be waiting for another calibration.
		return JSON.parse(await until(signal, calibrating));
	} catch (thrown) {
		return fail(thrown);
	} finally {
		release();
	}
};

exports.calibrationReport = async function calibrationReport(calibration, rows, options = {}) {
	checkOptions(options, ["title", "language", "settings"]);
	const { settings = {}, ...rest } = own(options);
	const context = { ...rest, settings: Object.entries(settings) };
	const lines = linesOf(rows);
	const json = JSON.stringify(calibration) ?? "null";
	return native.calibrationReport(json, lines, JSON.stringify(context)).catch(fail);
};
