/** Labels of runs by id, from a CSV file or JSON lines: whether they succeeded, and columns to group them by. */
const { InputError } = require("./exit.js");
const { boundedContentsOf } = require("./sources.js");
const { count, warn } = require("./terminal.js");

const TRUTH = new Map(
	Object.entries({ 1: true, true: true, yes: true, 0: false, false: false, no: false }),
);

const shortened = (value) => JSON.stringify(String(value).slice(0, 100));

/** The records of JSON lines, or of CSV with a head, each with its line. */
function recordsOf(path, bytes) {
	const text = bytes.toString().replace(/^\uFEFF/, "");
	if (!/^\s*\{/.test(text)) {
		const { parse } = require("csv-parse/sync");
		const records = parse(text, { columns: true, info: true, skip_empty_lines: true, trim: true });
		return records.map(({ record, info }) => [record, info.lines]);
	}
	return text.split("\n").flatMap((line, index) => {
		if (line.trim() === "") return [];
		try {
			return [[JSON.parse(line), index + 1]];
		} catch (error) {
			throw new InputError(`${path}:${index + 1}: ${error.message}`);
		}
	});
}

class Labels {
	/** Whether runs succeeded, by id. */
	success = new Map();
	#records = new Map();
	#unused;

	constructor(path, records) {
		for (const [record, line] of records) {
			const { id: given, label, success = label, ...columns } = record ?? {};
			if (given === undefined || success === undefined)
				throw new InputError(`${path}: expected the columns id and label or success`);
			const id = String(given);
			const truth = TRUTH.get(String(success).toLowerCase());
			const found = (what) => new InputError(`${path}:${line}: ${what}`);
			if (truth === undefined) throw found(`expected 1 or 0, found ${shortened(success)}`);
			if ((this.success.get(id) ?? truth) !== truth)
				throw found(`${id.slice(0, 100)} has two labels`);
			this.success.set(id, truth);
			this.#records.set(id, columns);
		}
		if (this.success.size === 0) throw new InputError(`${path}: no labels in it`);
		this.#unused = new Set(this.success.keys());
	}

	/** Reads the file of `--labels`; undefined without one. */
	static async of(job) {
		const path = job.options.labels;
		if (path === undefined) return undefined;
		const bytes = await boundedContentsOf(path, job);
		try {
			return new Labels(path, recordsOf(path, bytes));
		} catch (error) {
			throw error instanceof InputError ? error : new InputError(`${path}: ${error.message}`);
		}
	}

	/** The value of a column for a run as text; null if there is none. */
	columnOf(id, name) {
		const value = this.#records.get(id)?.[name] ?? null;
		return value === null ? null : String(value);
	}

	/** Whether a column is there. */
	has(name) {
		return [...this.#records.values()].some((columns) => Object.hasOwn(columns, name));
	}

	/** Notes that there is a run with this id. */
	use(id) {
		this.#unused.delete(id);
	}

	/** Fails if no label has a run. */
	check() {
		if (this.#unused.size === this.success.size)
			throw new InputError("no label has the id of a run");
	}

	/** Warns of labels without a run. */
	warn() {
		const unused = this.#unused.size;
		if (unused > 0) warn(`${count(unused, "label")} without a run`);
	}
}

module.exports = { Labels };
