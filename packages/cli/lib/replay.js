/** Traces in the order in which they were made, whatever the order of the logs. */
const { mkdtemp, open, rm } = require("node:fs/promises");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { importTraces } = require("./engine.js");

/** Keeps traces in a temporary file, and of each no more than a time and a place in memory. */
class Replay {
	#folder;
	#file;
	#size = 0;
	#places = [];

	static async open() {
		const replay = new Replay();
		replay.#folder = await mkdtemp(join(tmpdir(), "kp-score-"));
		replay.#file = await open(join(replay.#folder, "traces.jsonl"), "w+");
		return replay;
	}

	/** How many traces there are. */
	get size() {
		return this.#places.length;
	}

	/** Adds what is in a source. Returns the number of errors, which go to `onError`. */
	async add(source, { options, stop, onError, onTrace }) {
		let errors = 0;
		const imported = importTraces([source], options);
		for await (const { trace, error, provenance } of imported) {
			if (stop.aborted) break;
			if (error) {
				errors += 1;
				onError(error);
				continue;
			}
			const line = Buffer.from(`${JSON.stringify(trace)}\n`);
			await this.#file.write(line, 0, line.length, this.#size);
			const time = Date.parse(trace.metadata.created_at ?? "");
			this.#places.push({
				time: Number.isNaN(time) ? 0 : time,
				at: this.#size,
				length: line.length,
				source: provenance.source,
			});
			this.#size += line.length;
			onTrace(provenance.source.name);
		}
		return { errors, report: imported.report };
	}

	/** All of them, as lines; those of the same time in the order of the logs. */
	async *lines() {
		for (const { at, length } of this.#places.sort((a, b) => a.time - b.time)) {
			const { buffer } = await this.#file.read(Buffer.alloc(length), 0, length, at);
			yield buffer;
		}
	}

	/** A row of one of the lines, with the place of its run in the logs. */
	placed(row) {
		return { ...row, source: this.#places[row.source.line - 1].source };
	}

	async close() {
		await this.#file.close();
		await rm(this.#folder, { recursive: true, force: true });
	}
}

module.exports = { Replay };
