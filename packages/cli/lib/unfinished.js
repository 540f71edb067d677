/**
 * Going on after an interrupt, of `score -o FILE` with a memory or a store. Rows are written to the journal `FILE.partial`, whose
 * lines are
 *
 *     {"kp-score":{…}}  the first one: what decides the rows, each as a hash
 *     ["id",…]          ids of runs, before a store gets them: whatever ends the process, none is without a row
 *     {…}               a row or an error, as FILE gets it
 *
 * A command may be killed at any time, even when it goes on itself. The same command then finds
 *
 *     no journal        it begins anew
 *     no whole line     it begins anew: the first one was not yet written
 *     a journal         it cuts off a line that is not whole, and writes what has no row yet: what a store got is scored as it was
 *                       then, and the rest, with a memory all runs, is scored as usual. FILE gets the rows when all are there
 *     FILE, a journal   the same: the journal has all rows, and FILE gets them again. It is removed when all else is done, such as
 *                       the memory saved
 *
 * One process at a time has FILE, by its lock. Whatever else has the name of the journal is refused, and left as it is.
 */
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const { resolve } = require("node:path");
const { createInterface } = require("node:readline");
const { openReplacement } = require("@knowledgepulse/scoring/internal/file");
const { onAbort } = require("@knowledgepulse/scoring/internal/signals");
const { version } = require("../package.json");
const { importTraces, withGroup } = require("./engine.js");
const { InputError } = require("./exit.js");
const { openFile } = require("./output.js");
const { profilesOf } = require("./scorer.js");
const { count, jsonLine, masked, parsed } = require("./terminal.js");

const LINE_FEED = 10;
const PIECE = 2 ** 16;

/** A link is not followed, and nobody waits for the other end of a pipe. */
const OPEN = fs.constants.O_RDWR | fs.constants.O_APPEND | fs.constants.O_CREAT;
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

/** Options that decide no row; the threshold does if it decides. */
const OTHERS = "errors facts html json minShare output progress quiet table".split(" ");

/** What decides the rows of a job, by name: its options, files and sources, and the settings in the environment. */
function originOf({ labels, options }, sources, profiles) {
	const { decide, memory, model, store = process.env.KP_SCORE_STORE, threshold } = options;
	const settings = Object.entries(process.env).filter(([name]) => /^KNOWLEDGEPULSE_/.test(name));
	const origin = {
		...options,
		...Object.fromEntries(settings),
		version,
		sources: sources.map((path) => (path === "-" ? path : resolve(path))),
		labels: labels && [...labels.success],
		memory: memory && resolve(memory),
		model: model && resolve(model),
		profiles,
		store: store && masked(store),
		threshold: decide ? threshold : undefined,
	};
	const known = Object.entries(origin).filter(
		([name, value]) => value !== undefined && !OTHERS.includes(name),
	);
	const hashOf = (value) =>
		createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
	return Object.fromEntries(known.map(([name, value]) => [name, hashOf(value)]));
}

/** What an error or a row is known by: a run by its id, or its place and objective. */
const keyOf = ({ error, id, objective, source }) =>
	error || id == null ? JSON.stringify([error, source?.name, source?.line, objective]) : `"${id}`;

class Unfinished {
	#fd;
	#target;
	#mode;
	/** How often each row is there that the command has not come to. */
	#written = new Map();
	#isKept = false;
	/** The end of the first line. */
	#start;
	path;
	/** The ids of the runs that were added to a store, with a row or not yet. */
	added = new Set();
	rows = 0;

	/** Opens the journal for a file, which is locked; `origin` is what decides its rows. */
	constructor(target, mode, origin) {
		this.#target = target;
		this.#mode = mode;
		this.path = `${target}.partial`;
		const found = fs.lstatSync(this.path, { throwIfNoEntry: false });
		if (found && !found.isFile()) this.#refuse("and is no regular file");
		this.#fd = fs.openSync(this.path, OPEN | O_NOFOLLOW | O_NONBLOCK, mode);
		try {
			this.#begin(origin);
		} catch (error) {
			fs.closeSync(this.#fd);
			throw error;
		}
	}

	#refuse(what) {
		throw new InputError(`${this.path} is there, ${what}: remove it, or give it another name`);
	}

	#begin(origin) {
		if (!fs.fstatSync(this.#fd).isFile()) this.#refuse("and is no regular file");
		const head = jsonLine({ "kp-score": origin });
		const piece = Buffer.alloc(PIECE);
		const beginning = piece.subarray(0, fs.readSync(this.#fd, piece, 0, PIECE, 0));
		this.#start = beginning.indexOf(LINE_FEED) + 1;
		if (this.#start === 0 && head.startsWith(beginning.toString())) {
			fs.ftruncateSync(this.#fd);
			fs.appendFileSync(this.#fd, head);
			this.#start = Buffer.byteLength(head);
			return;
		}
		const { "kp-score": before } = parsed(beginning.toString("utf8", 0, this.#start)) ?? {};
		if (!before) this.#refuse("and was not written to go on from");
		const isOther = (name) => before[name] !== origin[name];
		const others = Object.keys({ ...before, ...origin }).filter(isOther);
		if (others.length > 0) this.#refuse(`from another command, with other ${others.join(", ")}`);
		this.#isKept = true;
	}

	#lines() {
		const options = { fd: this.#fd, start: this.#start, autoClose: false };
		return createInterface({ input: fs.createReadStream("", options) });
	}

	/** Passes the rows that are there to `take`, and cuts off a line that is not whole. Must be called before any is written. */
	async read(signal, take) {
		const { size } = fs.fstatSync(this.#fd);
		let end = this.#start;
		for await (const line of this.#lines()) {
			if (signal.aborted) return;
			const start = end;
			end += Buffer.byteLength(line) + 1;
			if (end > size) return fs.ftruncateSync(this.#fd, start);
			const value = parsed(line) ?? this.#refuse("and has a line that is damaged");
			if (Array.isArray(value)) {
				for (const id of value) this.added.add(id);
				continue;
			}
			const key = keyOf(value);
			this.#written.set(key, (this.#written.get(key) ?? 0) + 1);
			this.rows += 1;
			if (!value.error) take(value);
		}
	}

	/** Whether the row of a run with this id is there. */
	has(id) {
		return this.#written.has(keyOf({ id }));
	}

	/** Whether a row or an error that the command comes to is there, each as often as it is. */
	passes(value) {
		const key = keyOf(value);
		const times = this.#written.get(key) ?? 0;
		if (times > 0) this.#written.set(key, times - 1);
		return times > 0;
	}

	/** Notes the ids of runs before a store gets them. */
	follow(store) {
		const append = store.append.bind(store);
		store.append = (entries, options) => {
			const ids = entries.flatMap(({ id }) => id ?? []);
			for (const id of ids) this.added.add(id);
			if (ids.length > 0) fs.appendFileSync(this.#fd, jsonLine(ids));
			this.#isKept = true;
			return append(entries, options);
		};
	}

	async write(data) {
		fs.appendFileSync(this.#fd, data);
		this.rows += 1;
	}

	/** Writes the file, unless there is a reason to go on later. From now on, an error leaves the journal. */
	async commit(isLater) {
		this.#isKept ||= this.rows > 0;
		if (isLater) return;
		const file = await openReplacement(this.#target, this.#mode);
		try {
			let text = "";
			for await (const line of this.#lines()) {
				if (line[0] === "{") text += `${line}\n`;
				if (text.length < PIECE) continue;
				await file.write(text);
				text = "";
			}
			await file.write(text);
			await file.commit();
		} finally {
			await file.discard();
		}
	}

	/** Removes the journal when the command has done everything. */
	end() {
		this.#isKept = false;
		this.discard();
	}

	/** Closes the journal, and removes it unless it is needed. */
	discard() {
		if (this.#fd !== undefined) fs.closeSync(this.#fd);
		this.#fd = undefined;
		if (!this.#isKept) fs.rmSync(this.path, { force: true });
	}
}

/** Opens the file of the rows of a job for `sources`, which goes on from those that are there if it has a memory or a store. */
const openRows = (sources) => async (path, options, job) => {
	const { by, memory, store = process.env.KP_SCORE_STORE, table, top } = job.options;
	const hasState = Boolean(memory || store) && !by && !table && top === undefined;
	const origin = originOf(job, sources, await profilesOf(job));
	return openFile(path, {
		...options,
		journal: hasState && ((target, mode) => new Unfinished(target, mode, origin)),
	});
};

/** Passes the rows that are there to `take`. */
async function goOn(job, take) {
	const { unfinished } = job.output;
	await unfinished?.read(job.signal, take);
	if (unfinished?.rows > 0)
		job.note(`goes on from ${unfinished.path}: ${count(unfinished.rows, "row")}`);
}

/** The name of the runs that are left, as a source. */
const REST = "runs without a row";

/**
 * Yields the rows that are left: of the runs that were added to the store, as they were scored then, and of those that the
 * store did not have.
 */
function evaluateRest(scorer, job, unfinished) {
	const { added } = unfinished;
	const { group } = job.options;
	const imported = importTraces(job);
	/** Where the runs to be scored come from, with the errors between them. */
	const origins = [];
	const done = new Set();
	let known = 0;
	async function* traces() {
		for await (const item of imported) {
			const { trace } = item;
			// Not scored at all: the store may have forgotten it.
			const isDone = trace && unfinished.has(trace.id);
			if (isDone) known += 1;
			else origins.push(item);
			if (trace && !isDone) yield `${JSON.stringify(trace)}\n`;
		}
	}
	const settings = { format: "reasoning-trace", group, known: "again" };
	const evaluation = scorer.evaluateLogs({ name: REST, data: traces() }, settings);
	onAbort(job.signal, () => evaluation.return().catch(() => {}));
	async function* scored() {
		try {
			yield* evaluation;
		} catch (error) {
			// Every run may have its row already, and nothing is no log.
			if (error.source !== REST || error.code !== "UNKNOWN_FORMAT") throw error;
		}
	}
	function* errors() {
		while (origins[0]?.error) yield origins.shift();
	}
	async function* rows() {
		for await (const row of scored()) {
			yield* errors();
			const { source, key, successFrom, confidenceFrom, facts } = origins.shift().provenance;
			const isLeft = row.id === null || (added.has(row.id) && !done.has(row.id));
			done.add(row.id);
			if (!isLeft) known += 1;
			else yield withGroup({ ...row, source, key, successFrom, confidenceFrom, facts }, group);
		}
		yield* errors();
	}
	const report = () => ({ inputs: imported.report.inputs, known });
	return Object.defineProperty(rows(), "report", { get: report });
}

module.exports = { evaluateRest, goOn, openRows };
