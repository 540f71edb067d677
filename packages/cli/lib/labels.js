/** Labels of traces, from a CSV file with the columns id and label. */
const { readFile } = require("node:fs/promises");
const { parse } = require("csv-parse/sync");
const { InputError } = require("./exit.js");

const VALUES = new Map([
	["1", true],
	["true", true],
	["yes", true],
	["0", false],
	["false", false],
	["no", false],
]);

/** Returns the labels by id. */
async function labelsOf(path) {
	const bytes = await readFile(path).catch((error) => {
		throw new InputError(`cannot read ${path}: ${error.message}`);
	});
	const records = read(bytes, path);
	const labels = new Map();
	for (const { record, info } of records) {
		const place = `${path}:${info.lines}`;
		if (record.id === undefined || record.label === undefined)
			throw new InputError(`${path}: expected the columns id and label`);
		const label = VALUES.get(record.label.toLowerCase());
		if (label === undefined)
			throw new InputError(`${place}: expected 1 or 0, found ${JSON.stringify(record.label)}`);
		if (labels.has(record.id) && labels.get(record.id) !== label)
			throw new InputError(`${place}: ${record.id} has two labels`);
		labels.set(record.id, label);
	}
	if (labels.size === 0) throw new InputError(`${path}: no labels in it`);
	return labels;
}

function read(bytes, path) {
	try {
		return parse(bytes, { bom: true, columns: true, info: true, trim: true });
	} catch (error) {
		throw new InputError(`${path}: ${error.message}`);
	}
}

module.exports = { labelsOf };
