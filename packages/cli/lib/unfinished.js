/** What an interrupted command leaves beside the file of `-o`: rows, and the ids of the runs that it has added to a store. */
const { appendFileSync, constants } = require("node:fs");
const { open, readFile, rm } = require("node:fs/promises");

const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_RDWR, O_WRONLY } = constants;

/** For the end of a file, but not where a link leads. */
const APPENDING = O_APPEND | O_CREAT | O_NOFOLLOW | O_WRONLY;

const LINE_FEED = 10;

/** Cuts off what follows the last whole line of a file. Returns the size of the file, or 0 if there is none. */
async function cutLine(path) {
	const file = await open(path, O_RDWR | O_NOFOLLOW).catch((error) => {
		if (error.code !== "ENOENT") throw error;
	});
	if (!file) return 0;
	try {
		const { size } = await file.stat();
		const last = Buffer.alloc(1);
		let end = size;
		for (; end > 0; end -= 1) {
			await file.read(last, 0, 1, end - 1);
			if (last[0] === LINE_FEED) break;
		}
		// Without a line it is another file.
		if (end > 0) await file.truncate(end);
		return end || size;
	} finally {
		await file.close();
	}
}

class Unfinished {
	#journal;
	/** The file of the rows, and its size. */
	path;
	size;
	/** The ids of the runs whose rows are there. */
	written = new Set();
	/** The ids of the runs that were added to a store, with a row or not yet. */
	added;

	static async open(target) {
		const unfinished = new Unfinished();
		unfinished.path = `${target}.partial`;
		unfinished.#journal = `${target}.pending`;
		unfinished.size = await cutLine(unfinished.path);
		await cutLine(unfinished.#journal);
		const text = await readFile(unfinished.#journal, "utf8").catch(() => "");
		const lines = text.split("\n").filter(Boolean);
		unfinished.added = new Set(lines.map((line) => JSON.parse(line)));
		return unfinished;
	}

	/** A store that notes the ids of the runs before it gets them: whatever ends this process, none is without a row. */
	before(store) {
		const note = ({ id }) => {
			if (id === null) return;
			this.added.add(id);
			appendFileSync(this.#journal, `${JSON.stringify(id)}\n`, { flag: APPENDING, mode: 0o600 });
		};
		return {
			append(entries, options) {
				entries.forEach(note);
				return store.append(entries, options);
			},
			read: (options) => store.read(options),
			close: () => store.close(),
		};
	}

	/** Forgets the ids: all rows are written. */
	end() {
		return rm(this.#journal, { force: true });
	}
}

module.exports = { APPENDING, Unfinished };
