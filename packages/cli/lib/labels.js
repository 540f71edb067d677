/** Labels of runs by id, from CSV files or JSON lines: whether they succeeded, and columns to group them by. */
const { InputError } = require("./exit.js");
const { PREFIX } = require("./row-table.js");
const { textOf } = require("./sources.js");
const { count, warn } = require("./terminal.js");

/** Labels as people and programs write them. */
const TRUTH = new Map(
	[
		["1", "1.0", "true", "yes"],
		["0", "0.0", "false", "no"],
	].flatMap((names, index) => names.map((name) => [name, index === 0])),
);

const shortened = (value) => JSON.stringify(String(value).slice(0, 100));

/** The name of a column; those that are known may be written in capitals. */
const nameOf = (name) =>
	/^\s*(id|label|success)\s*$/i.test(name) ? name.trim().toLowerCase() : name;

/** What separates the columns of a head: semicolons or tabs where Excel writes them. */
const separatorOf = (head) =>
	[",", ";", "\t"].find((each) => head.split(each).some((name) => /^[\s"]*id[\s"]*$/i.test(name)));

/** The records of JSON lines, or of CSV with a head, each with its line. */
function recordsOf(text) {
	if (!/^\s*\{/.test(text)) {
		const { parse } = require("csv-parse/sync");
		// Excel writes such a line, and does not show it.
		const table = text.replace(/^sep=.\r?\n/, "\n").replace(/^[,;\t ]+$/gm, "");
		const records = parse(table, {
			columns: (names) => names.map(nameOf),
			delimiter: separatorOf(/\S.*/.exec(table)?.[0] ?? "") ?? ",",
			info: true,
			skip_empty_lines: true,
			skip_records_with_empty_values: true,
			trim: true,
		});
		return records.map(({ record, info }) => [record, info.lines]);
	}
	return text.split("\n").flatMap((line, index) => {
		if (line.trim() === "") return [];
		try {
			const members = Object.entries(JSON.parse(line) ?? {});
			const record = Object.fromEntries(members.map(([name, value]) => [nameOf(name), value]));
			return [[record, index + 1]];
		} catch (error) {
			throw Object.assign(error, { lines: index + 1 });
		}
	});
}

const isEmpty = (value) => (value ?? "") === "";

const isLabelled = ({ success }) => success !== undefined;

/** An id as tables show it. */
const bare = (id) => (id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id);

class Labels {
	/** The columns of runs, and in `success` whether they succeeded, by id. */
	#runs = new Map();
	#unused = new Set();

	/** Takes the labels of a file, which stand over those of earlier ones. */
	#add(path, records) {
		const own = new Map();
		for (const [{ id: given, label, success, ...columns }, line] of records) {
			const wrong = (what) => new InputError(`${path}:${line}: ${what}`);
			if (given === undefined || (label === undefined && success === undefined))
				throw wrong("expected the columns id and label or success");
			if (isEmpty(given)) throw wrong("expected an id, found nothing");
			const id = bare(String(given));
			const judged = isEmpty(success) ? label : success;
			const truth = TRUTH.get(String(judged).toLowerCase());
			if (truth === undefined && !isEmpty(judged))
				throw wrong(`expected 1, 0 or nothing, found ${shortened(judged)}`);
			const before = own.get(id)?.success;
			if ((before ?? truth) !== (truth ?? before))
				throw wrong(`${id.slice(0, 100)} has two labels`);
			own.set(id, { ...own.get(id), ...columns, success: truth ?? before });
		}
		if (![...own.values()].some(isLabelled)) throw new InputError(`${path}: no labels in it`);
		for (const [id, run] of own) {
			const earlier = this.#runs.get(id);
			this.#runs.set(id, { ...earlier, ...run, success: run.success ?? earlier?.success });
			if (isLabelled(run)) this.#unused.add(id);
		}
	}

	/** Reads the files of `--labels`; undefined without one. */
	static async of(job) {
		const { labels: paths } = job.options;
		if (paths === undefined) return undefined;
		const labels = new Labels();
		for (const path of paths) {
			const text = await textOf(path, job);
			try {
				labels.#add(path, recordsOf(text));
			} catch (error) {
				if (error instanceof InputError) throw error;
				throw new InputError(`${path}:${error.lines ?? 1}: ${error.message}`);
			}
		}
		return labels;
	}

	/** Whether runs succeeded, by the ids of their traces or logs. */
	get success() {
		const labelled = [...this.#runs].filter(([, run]) => isLabelled(run));
		const named = ([id, { success }]) => [id, PREFIX + id].map((name) => [name, success]);
		return new Map(labelled.flatMap(named));
	}

	/** The id under which a run is labelled: of its trace, or else of its log. */
	#idOf({ id, key }) {
		const ids = [id, key].filter((name) => typeof name === "string").map(bare);
		return ids.find((name) => this.#runs.has(name));
	}

	/** The value of a column for a run as text, of `success` as a boolean; null if there is none. */
	columnOf(run, name) {
		const value = this.#runs.get(this.#idOf(run))?.[name];
		if (isEmpty(value)) return null;
		return name === "success" ? value : String(value);
	}

	/** Whether a column is there. */
	has(name) {
		return [...this.#runs.values()].some((columns) => Object.hasOwn(columns, name));
	}

	/** Notes that there is a run. */
	use(run) {
		this.#unused.delete(this.#idOf(run));
	}

	/** Warns of labels without a run. @throws {InputError} if none has one. */
	check() {
		const unused = this.#unused.size;
		const [first] = this.#unused;
		if (unused === [...this.#runs.values()].filter(isLabelled).length)
			throw new InputError(`no label has the id of a run, such as that of ${shortened(first)}`);
		if (unused > 0) warn(`${count(unused, "label")} without a run`);
	}
}

module.exports = { Labels };
