/** The files of a command, of which none is read twice, written under two names, or read and written. */
const { fstatSync, lstatSync, readlinkSync, realpathSync, statSync } = require("node:fs");
const { basename, dirname, resolve } = require("node:path");
const { InputError, atEnd } = require("./exit.js");

const inputs = new Set();
const outputs = new Set();

const OPTIONS = { bigint: true, throwIfNoEntry: false };

/** The device and the number of a file; not all file systems have numbers. */
const numberOf = ({ dev, ino }) => (ino ? `${dev}:${ino}` : undefined);

/** The number of the folder of a path, with the name in it, to which links lead. */
function placeOf(path) {
	const folder = dirname(resolve(path));
	if (!lstatSync(path, OPTIONS)?.isSymbolicLink())
		return `${numberOf(statSync(folder, OPTIONS)) ?? realpathSync(folder)}/${basename(path)}`;
	return placeOf(resolve(realpathSync(folder), readlinkSync(path)));
}

/**
 * What tells whether files under two names are the same, of a path or a descriptor: the number of the file, and the place
 * where it is, or is to be made. Nothing of what is there and is no regular file.
 */
function* identitiesOf(file) {
	try {
		const isOpen = typeof file === "number";
		const found = isOpen ? fstatSync(file, OPTIONS) : statSync(file, OPTIONS);
		if (found && !found.isFile()) return;
		if (found && numberOf(found)) yield numberOf(found);
		if (!isOpen) yield placeOf(file);
	} catch {
		// It fails when it is opened.
	}
}

function refuse(path) {
	throw new InputError(`an output is an input of the command, too: ${path}`);
}

/** Notes a file that the command reads: a path, or the descriptor of standard input. Returns the first of its identities, if any. */
function claimInput(file) {
	if (inputs.size === 0) atEnd(() => inputs.clear());
	const isStandardInput = file === 0;
	if (isStandardInput && inputs.has(file))
		throw new InputError("standard input (-) can be read only once");
	const [identity] = identitiesOf(file);
	if (outputs.has(identity)) refuse(isStandardInput ? "standard input" : file);
	inputs.add(file).add(identity);
	return identity;
}

/** Notes what the command writes: its name, and the file with those beside it. */
function claimOutput(name, ...files) {
	const identities = files.flatMap((file) => [...identitiesOf(file)]);
	if (identities.some((identity) => outputs.has(identity)))
		throw new InputError(`two outputs are the same file: ${name}`);
	if (identities.some((identity) => inputs.has(identity))) refuse(name);
	for (const identity of identities) outputs.add(identity);
	atEnd(() => outputs.clear());
}

/** Whether a file is standard output, under another name. */
function isStandardOutput(path) {
	try {
		const number = numberOf(fstatSync(1, OPTIONS));
		return number !== undefined && number === numberOf(statSync(path, OPTIONS));
	} catch {
		return false;
	}
}

module.exports = { claimInput, claimOutput, isStandardOutput };
