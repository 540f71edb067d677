/** kp-score calibrate */
const { calibrate, calibrationReport } = require("@knowledgepulse/scoring/calibrate");
const { calibrationText } = require("../calibration-text.js");
const { InputError } = require("../exit.js");
const { openFile, show } = require("../output.js");
const { settingsOf } = require("../page.js");
const { eachRow } = require("../rows.js");
const { Job } = require("../job.js");
const { profilesOf } = require("../scorer.js");
const { sourcesOf } = require("../sources.js");
const { count, jsonLine, warn } = require("../terminal.js");

function label(rows, labels) {
	for (const row of rows) {
		row.label = labels.columnOf(row, "success") ?? undefined;
		labels.use(row);
	}
	labels.check();
	const unlabelled = rows.filter(({ label }) => label === undefined).length;
	if (unlabelled > 0) warn(`${count(unlabelled, "run")} without a label`);
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
	// They are compared with the scores, and change none.
	const { labels } = job;
	job.labels = undefined;
	const profiles = await profilesOf(job);
	const rows = [];
	const places = [];
	await eachRow(sources, job, (row, place) => {
		rows.push(row);
		places.push(place);
	});
	if (labels && !job.signal.aborted) label(rows, labels);
	for (const row of rows) await rowsFile?.write(jsonLine(row));
	await rowsFile?.commit();
	const { signal } = job;
	const target = targetOf(options);
	const asked = { fit, first, level, replicates, seed, profiles, signal, target };
	const calibration = await calibrate(rows, asked).catch((error) => {
		const place = places[/^rows\[(\d+)\]/.exec(error.message)?.[1]];
		if (place) throw new InputError(error.message.replace(/^[^\]]*\]\.?/, `${place}: `));
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
