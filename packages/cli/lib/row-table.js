/** Rows as a table, line by line. */
const { fit, style } = require("./terminal.js");

const SHORT = { "single-thought": "=0.1", "error-recovery": "+0.1", "low-tool-diversity": "−0.1" };

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
		this.#id = Math.min(Math.max((row.id ?? "").length, 4), 36);
		const start = this.#threshold === undefined ? "" : "  ";
		const head = `${start}score  compl  novel  tools  outc   rules      ${"id".padEnd(this.#id)}  objective`;
		return `${style("dim", head.slice(0, this.#width))}\n${this.#lineOf(row)}`;
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
			style("dim", fit(id ?? "", this.#id).padEnd(this.#id)),
			fit(objective, Math.max(this.#width - this.#id - (hasThreshold ? 53 : 51), 8)),
		];
		return `${cells.join("  ")}\n`;
	}
}

module.exports = { RowTable };
