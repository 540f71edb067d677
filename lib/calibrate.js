/** Calibration of scores, which types/calibrate.d.ts documents. */
const { Buffer } = require("node:buffer");
const { fail, native } = require("./native.js");
const { check, invalidOption, isObject, kind, kinds, readOptions } = require("./options.js");
const { onAbort, until } = require("./signals.js");

const { any, profiles, signal } = kinds;
/** The addon checks the rest. */
const REST = { target: any, fit: any, first: any, level: any, replicates: any, seed: any };
const OPTIONS = { ...REST, profiles, signal };
const REPORT_OPTIONS = { title: any, language: any, settings: kind("an object", isObject) };

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
	const { profiles, signal, ...rest } = readOptions(options, OPTIONS);
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
		const calibrating = native.calibrate(lines, asked, profiles, handle);
		// It may still be waiting for another calibration.
		return JSON.parse(await until(signal, calibrating));
	} catch (thrown) {
		return fail(thrown);
	} finally {
		release();
	}
};

exports.calibrationReport = async function calibrationReport(calibration, rows, options = {}) {
	const { settings = {}, ...rest } = readOptions(options, REPORT_OPTIONS);
	const context = jsonOf({ ...rest, settings: Object.entries(settings) }, "options");
	const lines = linesOf(rows);
	return native.calibrationReport(jsonOf(calibration, "calibration"), lines, context).catch(fail);
};
