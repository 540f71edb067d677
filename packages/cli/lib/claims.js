/** The files of a command, of which none is written under two names, or read and written. */
const { realpathSync, statSync } = require("node:fs");
const { basename, dirname, join } = require("node:path");
const { InputError, atEnd } = require("./exit.js");

const inputs = new Set();
/** The places of the outputs: names in the real paths of their folders, and of those that exist what {@link numberOf} gives. */
const outputs = new Set();

/** The device and number of a file under any name; undefined if it does not exist. */
function numberOf(path) {
	const found = statSync(path, { bigint: true, throwIfNoEntry: false });
	return found?.ino ? `${found.dev}:${found.ino}` : undefined;
}

function refuse(path) {
	throw new InputError(`an output is an input of the command, too: ${path}`);
}

/** Notes a file that the command reads. */
function claimInput(path) {
	if (inputs.size === 0) atEnd(() => inputs.clear());
	inputs.add(path);
	if (outputs.size > 0 && outputs.has(numberOf(path))) refuse(path);
}

/** Notes a file that the command writes: its path, that without links, and those of files beside it. */
function claimOutput(path, ...targets) {
	const numbers = targets.map(numberOf).filter(Boolean);
	const names = targets.map((target) => join(realpathSync(dirname(target)), basename(target)));
	const places = [...names, ...numbers];
	if (places.some((place) => outputs.has(place)))
		throw new InputError(`two outputs are the same file: ${path}`);
	const isInput = (input) => numbers.includes(numberOf(input));
	if (numbers.length > 0 && [...inputs].some(isInput)) refuse(path);
	for (const place of places) outputs.add(place);
	atEnd(() => outputs.clear());
}

module.exports = { claimInput, claimOutput };
