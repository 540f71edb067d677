/** What the commands have in common. */
const { Exit, InputError } = require("./exit.js");
const { Output } = require("./output.js");
const { count, tally } = require("./style.js");
const { say } = require("./terminal.js");

/** Reasons for which a run, and not a part of one, was skipped. */
const LOST = new Set([
	"late",
	"malformed",
	"no_objective",
	"no_samples",
	"no_steps",
	"success_unknown",
	"too_large",
	"unknown_record",
	"unsupported_version",
]);

const ASSUMED = { true: true, false: false, skip: "skip" };

/** The options of `importTraces`. */
function importOptions({ from, assumeSuccess, domain, errors }) {
	return {
		errors,
		...(from && { format: from }),
		...(assumeSuccess && { assumeSuccess: ASSUMED[assumeSuccess] }),
		...(domain !== undefined && { domain }),
	};
}

/** Returns a function that writes a note to standard error, unless `--quiet` is set. */
const notesFor =
	({ quiet }) =>
	(text) => {
		if (!quiet) say(text);
	};

/** Opens the output of a command. */
const openOutput = ({ output }) => Output.open(output);

/** Completes the output, and says where it was written to. */
async function commit(output, options) {
	await output.commit();
	if (options.output !== undefined) notesFor(options)(`written to ${options.output}`);
}

/** Whether the output is a table for a person. */
const isTable = (output, { json }) => output.isTerminal && !json;

/** What of the inputs was left out, by reason. */
function skippedOf({ inputs }) {
	const all = {};
	for (const { skipped } of inputs)
		for (const [reason, n] of Object.entries(skipped)) all[reason] = (all[reason] ?? 0) + n;
	return all;
}

/** How many errors there were, by code. */
function errorCodes({ inputs }) {
	const codes = {};
	for (const { code } of inputs.flatMap(({ errors }) => errors))
		codes[code] = (codes[code] ?? 0) + 1;
	return codes;
}

/** What of the inputs was left out and would have been a run. */
function lostOf(report) {
	return Object.fromEntries(
		Object.entries(skippedOf(report)).filter(([reason]) => LOST.has(reason)),
	);
}

/** The error for input without a single trace. */
function noTraces(report) {
	const skipped = skippedOf(report);
	const reasons = Object.keys(skipped).length > 0 ? ` (skipped: ${tally(skipped)})` : "";
	return new InputError(`no traces in ${count(report.inputs.length, "source")}${reasons}`);
}

/** The exit code after everything was done; what went wrong outweighs a gate. */
function exitCode(stop, { errors = 0, gate = true }) {
	if (stop.isInterrupted) return Exit.SIGNAL + stop.number;
	if (errors > 0) return Exit.INPUT;
	return gate ? Exit.OK : Exit.GATE;
}

module.exports = {
	commit,
	errorCodes,
	exitCode,
	importOptions,
	isTable,
	lostOf,
	noTraces,
	notesFor,
	openOutput,
	skippedOf,
};
