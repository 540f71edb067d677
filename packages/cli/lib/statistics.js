/** Statistics of the rows that are shown. */
const { DIMENSIONS, percent } = require("./terminal.js");

/** If this share of the rows has one value, the dimension hardly affects the order. */
const ALIKE = 0.8;

/** With fewer rows, equal values are chance. */
const FEW = 10;

class Statistics {
	scores = [];
	/** The number of rows by dimension and value. */
	#values = new Map(Object.keys(DIMENSIONS).map((name) => [name, new Map()]));
	uncompared = 0;

	add({ dimensions, score, similarity }) {
		this.scores.push(score);
		if (similarity === null) this.uncompared += 1;
		for (const [name, values] of this.#values) {
			const value = dimensions[name].toFixed(2);
			values.set(value, (values.get(value) ?? 0) + 1);
		}
	}

	acceptedBy(threshold) {
		const accepted = this.scores.filter((score) => score >= threshold).length;
		return { accepted, share: this.scores.length === 0 ? 0 : accepted / this.scores.length };
	}

	/** What the gate of a share says that is not met; the share is undefined if there are no rows. */
	static gateText(share, { threshold, minShare }) {
		const isAny = share !== undefined;
		const found = isAny && `${percent(share, minShare)} of the traces score ${threshold} or more`;
		return `${found || "no run is selected"}, --min-share is ${percent(minShare, share)}`;
	}

	/** Such as `7 of 11 (63.6 %) score 0.6 or more`; empty without a threshold or rows. */
	acceptedText(threshold) {
		if (threshold === undefined || this.scores.length === 0) return "";
		const { accepted, share } = this.acceptedBy(threshold);
		return `${accepted} of ${this.scores.length} (${percent(share)}) score ${threshold} or more`;
	}

	/** The scores that these shares of the rows do not exceed. */
	quantilesAt(...shares) {
		const sorted = Float64Array.from(this.scores).sort();
		return shares.map((share) => sorted[Math.ceil(share * sorted.length) - 1]);
	}

	/** The names and values of quantiles; empty without rows. */
	get quantiles() {
		if (this.scores.length === 0) return [];
		const names = ["median", "90th percentile", "maximum"];
		return this.quantilesAt(0.5, 0.9, 1).map((score, index) => [names[index], score.toFixed(3)]);
	}

	/** The dimensions that hardly affect the order, such as `outcome is 0.80 in all 46 runs`. */
	get alike() {
		if (this.scores.length < FEW) return [];
		return [...this.#values].flatMap(([name, values]) => {
			const [value, n] = [...values].reduce((most, each) => (each[1] > most[1] ? each : most));
			if (n < ALIKE * this.scores.length) return [];
			const where =
				n === this.scores.length ? `all ${n} runs` : `${n} of ${this.scores.length} runs`;
			return `${DIMENSIONS[name].title} is ${value} in ${where}`;
		});
	}
}

module.exports = { Statistics };
