/** Rows as a table that is written line by line. */
const { fit, style } = require("./terminal.js");

const SHORT = {
	"single-thought": "=0.1",
	"error-recovery": "+0.1",
	"low-tool-diversity": "−0.1",
};

class RowTable {
	#width;
	#threshold;
	/** Columns of the id; known with the first row. */
	#id;

	constructor({ width }, { threshold }) {
		this.#width = width;
		this.#threshold = threshold;
	}

	lineOf(row) {
		if (row.error) return "";
		let head = "";
		if (this.#id === undefined) {
			this.#id = Math.min(Math.max((row.id ?? "").length, 4), 36);
			head = this.#head();
		}
		return `${head}${this.#row(row)}\n`;
	}

	#head() {
		const start = this.#threshold === undefined ? "" : "  ";
		const text = `${start}score  compl  novel  tools  outc   rules      ${"id".padEnd(this.#id)}  objective`;
		return `${style("dim", text.slice(0, this.#width))}\n`;
	}

	#row(row) {
		const { dimensions, score, overrides } = row;
		const isAccepted = score >= this.#threshold;
		const mark =
			this.#threshold === undefined
				? ""
				: `${isAccepted ? style("green", "✓") : style("dim", "·")} `;
		const novelty = row.similarity === null ? "*" : " ";
		const numbers = [
			dimensions.complexity.toFixed(2).padStart(5),
			`${dimensions.novelty.toFixed(2).padStart(5)}${novelty}`,
			dimensions.toolDiversity.toFixed(2).padStart(4),
			dimensions.outcomeConfidence.toFixed(2).padStart(5),
		].join("  ");
		const rules = overrides.map((name) => SHORT[name] ?? name).join(" ");
		const rest = `${rules.padEnd(9)}  `;
		const used = 51 + this.#id + (mark ? 2 : 0);
		const bold =
			this.#threshold === undefined || isAccepted
				? style("bold", score.toFixed(3))
				: score.toFixed(3);
		const id = fit(row.id ?? "", this.#id).padEnd(this.#id);
		const objective = fit(row.objective, Math.max(this.#width - used, 8));
		return `${mark}${bold}  ${numbers}  ${rest}${style("dim", id)}  ${objective}`;
	}
}

module.exports = { RowTable };
