/** Calibration of scores, which types/calibrate.d.ts documents. */
const { Buffer } = require("node:buffer");
const { fail, native } = require("./native.js");
const { check, integer, invalidOption, isObject, kind, kinds, readOptions, within } =
	require("./options.js");
const { onAbort, until } = require("./signals.js");

const { any, flag, profiles, share, signal } = kinds;
const whole = integer(Number.MAX_SAFE_INTEGER, "a whole number, 0 or more", 0);
const TARGETS = {
	threshold: share,
	share: kind("a number in (0, 1]", (value) => share.fits(value) && value > 0),
	precision: kind("a number in (0, 1)", (value) => share.fits(value) && value > 0 && value < 1),
};
const OPTIONS = {
	target: kind(
		"one of threshold, share and precision",
		(target) => isObject(target) && Object.keys(target).length === 1,
		(target, path) => readOptions(target, TARGETS, path),
	),
	fit: flag,
	first: whole,
	level: within(0.5, 0.999),
	replicates: integer(10_000, "a whole number from 100 to 10000", 100),
	seed: whole,
	profiles,
	signal,
};
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
	const lines = linesOf(rows);
	const asked = JSON.stringify(rest);
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
