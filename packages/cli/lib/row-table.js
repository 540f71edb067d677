/** Rows as a table, line by line. */
const { fit, style } = require("./terminal.js");

const SHORT = { "single-thought": "=0.1", "error-recovery": "+0.1", "low-tool-diversity": "−0.1" };

const LEGEND = `compl complexity · novel novelty · tools tool diversity · outc outcome
rules +0.1 more than two recoveries, −0.1 a single tool, =0.1 a single thought · id: explain --id shows why`;

/** An id as `explain --id` takes it: of those that importers make, the beginning. */
const shortId = (id) => id.replace(/^(kp:trace:[\da-f]{8})-[\da-f]{4}-8[\da-f-]{21}$/, "$1");

class RowTable {
	#width;
	#threshold;
	/** Columns of the id; known with the first row. */
	#id;

	constructor({ width }, { threshold }) {
		this.#width = width;
		this.#threshold = threshold;
	}

	/** The line of a row; with the head above the first one. */
	lineOf(row) {
		if (this.#id !== undefined) return this.#lineOf(row);
		this.#id = Math.min(Math.max(shortId(row.id ?? "").length, 4), 36, this.#left);
		const start = this.#threshold === undefined ? "" : "  ";
		const head = `${start}score  compl  novel  tools  outc   rules      ${"id".padEnd(this.#id)}  objective`;
		return `${style("dim", head.slice(0, this.#width - 1))}\n${this.#lineOf(row)}`;
	}

	/** Columns for id and objective. */
	get #left() {
		return Math.max(this.#width - (this.#threshold === undefined ? 50 : 52), 4);
	}

	#lineOf({ dimensions, id, objective, overrides, score, similarity }) {
		const hasThreshold = this.#threshold !== undefined;
		const isAccepted = !hasThreshold || score >= this.#threshold;
		const mark = isAccepted ? style("green", "✓") : style("dim", "·");
		const value = score.toFixed(3);
		const numbers = [
			dimensions.complexity.toFixed(2).padStart(5),
			`${dimensions.novelty.toFixed(2).padStart(5)}${similarity === null ? "*" : " "}`,
			dimensions.toolDiversity.toFixed(2).padStart(4),
			dimensions.outcomeConfidence.toFixed(2).padStart(5),
		].join("  ");
		const rules = overrides.map((name) => SHORT[name] ?? name).join(" ");
		const cells = [
			`${hasThreshold ? `${mark} ` : ""}${isAccepted ? style("bold", value) : value}`,
			numbers,
			rules.padEnd(9),
			style("dim", fit(shortId(id ?? ""), this.#id).padEnd(this.#id)),
			fit(objective, Math.max(this.#left - this.#id - 2, 0)),
		];
		return `${cells.join("  ")}\n`;
	}
}

module.exports = { LEGEND, RowTable, shortId };
