/** The files of a command, of which none is written under two names, or read and written. */
const { realpathSync, statSync } = require("node:fs");
const { basename, dirname, join } = require("node:path");
const { InputError, atEnd } = require("./exit.js");

const inputs = new Set();
/** The keys of the outputs. */
const outputs = new Set();

function attempt(call) {
	try {
		return call();
	} catch {
		return undefined;
	}
}

/** What tells a file from others: its name in the real path of its folder, and if it exists, its device and number. */
function keysOf(path) {
	const folder = attempt(() => realpathSync.native(dirname(path))) ?? dirname(path);
	const { dev, ino = 0n } = attempt(() => statSync(path, { bigint: true })) ?? {};
	return [join(folder, basename(path)), ...(ino === 0n ? [] : [`${dev}:${ino}`])];
}

function refuse(path) {
	throw new InputError(`an output is an input of the command, too: ${path}`);
}

/** Notes a file that the command reads. */
function claimInput(path) {
	if (inputs.size === 0) atEnd(() => inputs.clear());
	inputs.add(path);
	if (outputs.size > 0 && keysOf(path).some((key) => outputs.has(key))) refuse(path);
}

/** Notes a file that the command writes: its path, that without links, and those of files beside it. */
function claimOutput(path, ...targets) {
	const keys = targets.flatMap(keysOf);
	if (keys.some((key) => outputs.has(key)))
		throw new InputError(`two outputs are the same file: ${path}`);
	// A file that does not exist is no input.
	const isInput = (input) => keysOf(input).some((key) => keys.includes(key));
	if (keys.length > targets.length && [...inputs].some(isInput)) refuse(path);
	for (const key of keys) outputs.add(key);
	atEnd(() => outputs.clear());
}

module.exports = { claimInput, claimOutput };
