/** kp-score calibrate */
const { InputError } = require("../exit.js");
const { calibrationText } = require("../calibration-text.js");
const { calibrate, calibrationReport, version } = require("../engine.js");
const { labelsOf } = require("../labels.js");
const { FileOutput } = require("../output.js");
const { eachRow } = require("../rows.js");
const run = require("../run.js");
const { profilesOf } = require("../session.js");
const { Stop } = require("../stop.js");
const { count } = require("../style.js");
const { masked, say, warn } = require("../terminal.js");

function targetOf({ targetShare, targetPrecision, threshold }) {
	const targets = Object.entries({
		share: targetShare,
		precision: targetPrecision,
		threshold,
	}).filter(([, value]) => value !== undefined);
	if (targets.length > 1)
		throw new InputError("--target-share, --target-precision and --threshold exclude each other");
	return targets.length === 0 ? undefined : Object.fromEntries(targets);
}

function label(rows, labels) {
	let used = 0;
	for (const row of rows) {
		const found = labels.get(row.id);
		if (found === undefined) continue;
		row.label = found;
		used += 1;
	}
	if (used === 0) throw new InputError("no label is of an id among the runs");
	if (used < rows.length) warn(`${rows.length - used} runs have no label`);
	const ids = new Set(rows.map(({ id }) => id));
	const unused = [...labels.keys()].filter((id) => !ids.has(id)).length;
	if (unused > 0) warn(`${count(unused, "label")} of no run`);
}

/** The command as it was typed, without passwords, and the folders of Node.js and the script. */
const commandLine = () => ["kp-score", ...process.argv.slice(2).map(masked)].join(" ");

module.exports = async function calibration([args], options) {
	const target = targetOf(options);
	const labels = options.labels && (await labelsOf(options.labels));
	const profiles = await profilesOf(options.profiles);
	const stop = new Stop();
	const output = await run.openOutput(options);
	const files = {};
	try {
		if (options.rows) files.rows = await FileOutput.open(options.rows);
		if (options.html) files.html = await FileOutput.open(options.html);
		const rows = [];
		const errors = await eachRow(args, { options, stop, take: (row) => rows.push(row) });
		if (labels && !stop.isInterrupted) label(rows, labels);
		for (const row of rows) await files.rows?.write(`${JSON.stringify(row)}\n`);
		await files.rows?.commit();
		if (stop.isInterrupted) {
			say(`interrupted after ${count(rows.length, "run")}: nothing was calibrated`);
			return run.exitCode(stop, {});
		}
		const { fit = false, first, level, replicates, seed } = options;
		const asked = {
			...(target && { target }),
			...(first !== undefined && { first }),
			...(profiles && { profiles }),
			...{ fit, level, replicates, seed },
		};
		const result = await calibrate(rows, asked);
		if (files.html) {
			const settings = {
				command: commandLine(),
				made: new Date().toISOString(),
				"kp-score": version,
			};
			const html = await calibrationReport(result, rows, { settings });
			await files.html.write(html);
		}
		await files.html?.commit();
		await output.write(
			run.isTable(output, options) ? calibrationText(result) : `${JSON.stringify(result)}\n`,
		);
		await run.commit(output, options);
		for (const { message } of result.warnings) warn(message);
		if (files.html) run.notesFor(options)(`report: ${options.html}`);
		return run.exitCode(stop, { errors });
	} finally {
		await output.discard();
		await files.rows?.discard();
		await files.html?.discard();
	}
};
