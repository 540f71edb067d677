/** kp-score calibrate */
const { InputError } = require("../exit.js");
const { calibrationText } = require("../calibration-text.js");
const { calibrate, calibrationReport, version } = require("../engine.js");
const { labelsOf } = require("../labels.js");
const { contentOf, nameOf } = require("../lines.js");
const { FileOutput } = require("../output.js");
const { Progress } = require("../progress.js");
const { Replay } = require("../replay.js");
const { scoreEach } = require("../rows.js");
const run = require("../run.js");
const { profilesOf, Session } = require("../session.js");
const { sourcesOf } = require("../sources.js");
const { Stop } = require("../stop.js");
const { count } = require("../style.js");

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

/** Scores all that the sources of traces have, in the order of time. */
async function replayed(traces, { options, stop, take, messages }) {
	const isWatched = options.progress && !options.quiet;
	const reading = new Progress(isWatched);
	const replay = await Replay.open();
	let scoring;
	try {
		let errors = 0;
		const inputs = [];
		for (const source of traces) {
			const found = await replay.add(source, {
				options: run.importOptions(options),
				stop: stop.signal,
				onError: ({ message }) => messages.say(messages.style("red", message)),
				onTrace: () => reading.add(),
			});
			errors += found.errors;
			inputs.push(...found.report.inputs);
		}
		if (stop.signal.aborted) return errors;
		if (replay.size === 0 && errors === 0) throw run.noTraces({ inputs });
		if (replay.size === 0) return errors;
		reading.stop();
		const session = await Session.open(options);
		scoring = new Progress(isWatched, (scored) => scored / replay.size);
		try {
			const source = {
				name: "runs in the order of time",
				data: replay.lines(),
			};
			const format = {
				from: undefined,
				assumeSuccess: undefined,
				domain: undefined,
			};
			await scoreEach(session, source, {
				options: { ...options, ...format },
				stop,
				take(row) {
					scoring.add();
					take(replay.placed(row));
				},
			});
		} finally {
			await session.close();
		}
		return errors;
	} finally {
		reading.stop();
		scoring?.stop();
		await replay.close();
	}
}

/** The rows of all sources, with the number of errors. */
async function rowsOf(sources, context) {
	const rows = [];
	const take = (row) => rows.push(row);
	const traces = [];
	for (const source of sources) {
		const content = await contentOf(source);
		if (content.traces) traces.push(content.traces);
		else for await (const row of content.rows) take(row);
	}
	if (traces.length > 0 && rows.length > 0)
		throw new InputError(`expected rows or logs, found both: ${nameOf(traces[0])} has no rows`);
	const errors = traces.length > 0 ? await replayed(traces, { ...context, take }) : 0;
	return { rows, errors };
}

function label(rows, labels, { warn }) {
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

/** The command as it was typed, but for the folders of Node.js and the script. */
const commandLine = () => ["kp-score", ...process.argv.slice(2)].join(" ");

module.exports = async function calibration([args], options) {
	const target = targetOf(options);
	const output = new run.Output();
	const messages = run.notes(options);
	const labels = options.labels && (await labelsOf(options.labels));
	const profiles = await profilesOf(options.profiles);
	const sources = await sourcesOf(args);
	const files = {};
	const stop = new Stop();
	try {
		if (options.rows) files.rows = await FileOutput.open(options.rows);
		if (options.html) files.html = await FileOutput.open(options.html);
		const context = { options, stop, messages };
		const { rows, errors } = await rowsOf(sources, context);
		if (labels) label(rows, labels, messages);
		for (const row of rows) await files.rows?.write(`${JSON.stringify(row)}\n`);
		await files.rows?.commit();
		if (stop.isInterrupted) {
			messages.say(`interrupted after ${count(rows.length, "run")}: nothing was calibrated`);
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
		await output.flush();
		for (const { message } of result.warnings) messages.warn(message);
		if (files.html) messages.note(`report: ${options.html}`);
		return run.exitCode(stop, { errors });
	} finally {
		await files.rows?.discard();
		await files.html?.discard();
	}
};
