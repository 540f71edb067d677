/** Calibration of scores, which types/calibrate.d.ts documents. */
const { Buffer } = require("node:buffer");
const { fail, native } = require("./native.js");
const {
	check,
	checkOptions,
	invalidOption,
	isObject,
	kinds,
	own,
	readValue,
} = require("./options.js");
const { onAbort, until } = require("./signals.js");

const OPTIONS = ["target", "fit", "first", "level", "replicates", "seed", "profiles", "signal"];

function linesOf(rows) {
	const isIterable = typeof rows?.[Symbol.iterator] === "function" && typeof rows !== "string";
	check(isIterable, "rows", "an array of rows", rows);
	const lineOf = (row, index) => Buffer.from(`${jsonOf(row, `rows[${index}]`, "INVALID_ROW")}\n`);
	return Buffer.concat(Array.from(rows, lineOf));
}

function jsonOf(value, path, code = undefined) {
	try {
		return JSON.stringify(value) ?? "null";
	} catch (cause) {
		throw invalidOption(path, "a value that JSON can express", cause?.message ?? cause, code);
	}
}

exports.calibrate = async function calibrate(rows, options = {}) {
	checkOptions(options, OPTIONS);
	// The addon checks the rest.
	const { profiles, signal, ...rest } = own(options);
	const weights = readValue(kinds.profiles, "profiles", profiles);
	const { target } = rest;
	if (target !== undefined && Object.keys(target ?? {}).length !== 1)
		throw invalidOption(
			"target",
			"one of threshold, share and precision",
			jsonOf(target, "target"),
		);
	const lines = linesOf(rows);
	const asked = jsonOf(rest, "options");
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
	check(isObject(settings), "settings", "an object", settings);
	const context = jsonOf({ ...rest, settings: Object.entries(settings) }, "options");
	const lines = linesOf(rows);
	return native.calibrationReport(jsonOf(calibration, "calibration"), lines, context).catch(fail);
};
