/** kp-score calibrate */
const { calibrate, calibrationReport } = require("@knowledgepulse/scoring/calibrate");
const { calibrationText } = require("../calibration-text.js");
const { InputError } = require("../exit.js");
const { openFile, show } = require("../output.js");
const { settingsOf } = require("../page.js");
const { eachRow } = require("../rows.js");
const { Job } = require("../job.js");
const { profilesOf } = require("../scorer.js");
const { boundedContentsOf, sourcesOf } = require("../sources.js");
const { count, warn } = require("../terminal.js");

const LABELS = new Map(
	Object.entries({ 1: true, true: true, yes: true, 0: false, false: false, no: false }),
);

/** Reads labels by id from a CSV file with the columns id and label. */
async function labelsOf(path, job) {
	const labels = new Map();
	for (const { record, info } of await recordsOf(path, job)) {
		const place = `${path}:${info.lines}`;
		if (record.id === undefined || record.label === undefined)
			throw new InputError(`${path}: expected the columns id and label`);
		const label = LABELS.get(record.label.toLowerCase());
		if (label === undefined)
			throw new InputError(
				`${place}: expected 1 or 0, found ${JSON.stringify(record.label.slice(0, 100))}`,
			);
		if (labels.has(record.id) && labels.get(record.id) !== label)
			throw new InputError(`${place}: ${record.id.slice(0, 100)} has two labels`);
		labels.set(record.id, label);
	}
	if (labels.size === 0) throw new InputError(`${path}: no labels in it`);
	return labels;
}

async function recordsOf(path, job) {
	const { parse } = require("csv-parse/sync");
	const bytes = await boundedContentsOf(path, job);
	try {
		return parse(bytes, { bom: true, columns: true, info: true, trim: true });
	} catch (error) {
		throw new InputError(`${path}: ${error.message}`);
	}
}

function label(rows, labels) {
	const unused = new Set(labels.keys());
	let used = 0;
	for (const row of rows) {
		if (!labels.has(row.id)) continue;
		row.label = labels.get(row.id);
		unused.delete(row.id);
		used += 1;
	}
	if (used === 0) throw new InputError("no label has the id of a run");
	if (used < rows.length) warn(`${rows.length - used} runs have no label`);
	if (unused.size > 0) warn(`${count(unused.size, "label")} without a run`);
}

function targetOf({ targetShare, targetPrecision, threshold }) {
	const targets = { share: targetShare, precision: targetPrecision, threshold };
	const given = Object.entries(targets).filter(([, value]) => value !== undefined);
	return given.length > 0 ? Object.fromEntries(given) : undefined;
}

module.exports = async function calibration([args], options) {
	const { fit, first, level, replicates, seed } = options;
	const sources = await sourcesOf(args);
	const job = await Job.open(options);
	const rowsFile = options.rows && (await openFile(options.rows, job));
	const htmlFile = options.html && (await openFile(options.html, job));
	const labels = options.labels && (await labelsOf(options.labels, job));
	const profiles = await profilesOf(job);
	const rows = [];
	await eachRow(sources, job, (row) => rows.push(row));
	if (labels && !job.signal.aborted) label(rows, labels);
	for (const row of rows) await rowsFile?.write(`${JSON.stringify(row)}\n`);
	await rowsFile?.commit();
	const { signal } = job;
	const target = targetOf(options);
	const asked = { fit, first, level, replicates, seed, profiles, signal, target };
	const calibration = await calibrate(rows, asked).catch((error) => {
		if (error !== signal.reason) throw error;
	});
	if (job.endedEarly(`after ${count(rows.length, "run")}: nothing was calibrated`))
		return job.exitCode();
	if (htmlFile) {
		await htmlFile.write(await calibrationReport(calibration, rows, { settings: settingsOf() }));
		await htmlFile.commit();
	}
	await show(job.output, calibration, calibrationText);
	await job.commit();
	for (const { message } of calibration.warnings) warn(message);
	if (htmlFile) job.note(`report: ${options.html}`);
	return job.exitCode();
};
