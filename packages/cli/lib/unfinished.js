/** What an interrupted command leaves beside the file of `-o`: rows, the ids of the runs that it has added to a store, and whether the file itself has its rows. */
const fs = require("node:fs");

const LINE_FEED = 10;

/** Cuts off what follows the last whole line of a file. Returns its size. Removes one that is empty, or a link. */
function cutLine(path) {
	if (!fs.lstatSync(path, { throwIfNoEntry: false })?.size) fs.rmSync(path, { force: true });
	if (!fs.existsSync(path)) return 0;
	const file = fs.openSync(path, "r+");
	const { size } = fs.fstatSync(file);
	const last = Buffer.alloc(1);
	let end = size;
	while (end > 0 && fs.readSync(file, last, 0, 1, end - 1) && last[0] !== LINE_FEED) end -= 1;
	// Without a line it is another file.
	if (end > 0) fs.ftruncateSync(file, end);
	fs.closeSync(file);
	return end || size;
}

class Unfinished {
	#journal;
	/** The file of the rows, and its size. */
	path;
	size;
	/** The ids of the runs whose rows are there, and of those that were added to a store, with a row or not yet. */
	written = new Set();
	added = new Set();

	constructor(target) {
		this.path = `${target}.partial`;
		this.#journal = `${target}.pending`;
		this.size = cutLine(this.path);
		if (cutLine(this.#journal) === 0) return;
		let whole = 0;
		for (const line of fs.readFileSync(this.#journal, "utf8").trim().split("\n")) {
			const value = JSON.parse(line);
			if (typeof value === "number") whole = value;
			else this.added.add(value);
		}
		if (this.size >= whole || fs.statSync(target, { throwIfNoEntry: false })?.size !== whole)
			return;
		// It was killed after it had replaced the file, or while that was being copied here.
		fs.rmSync(this.path, { force: true });
		fs.copyFileSync(target, this.path);
		this.size = whole;
	}

	/** Notes the ids of runs before a store gets them: whatever ends this process, none is without a row. */
	follow(store) {
		const append = store.append.bind(store);
		store.append = (entries, options) => {
			for (const { id } of entries) if (id !== null) this.added.add(id);
			const lines = entries.map(({ id }) => (id === null ? "" : `${JSON.stringify(id)}\n`));
			fs.appendFileSync(this.#journal, lines.join(""), { mode: 0o600 });
			return append(entries, options);
		};
	}

	/** Notes the size of all rows, before they become the file: until the command ends, that is what the next one goes on from. */
	complete() {
		fs.appendFileSync(this.#journal, `${fs.statSync(this.path).size}\n`, { mode: 0o600 });
	}

	/** Forgets all, because the command has done everything. */
	end() {
		fs.rmSync(this.#journal, { force: true });
	}
}

module.exports = { Unfinished };
