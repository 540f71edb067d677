/** Counts of scores, in constant memory. */

const BINS = 10_000;

/** Where the bytes of a row have what is counted; quotes inside of texts are escaped, so no text matches. */
const SCORE = Buffer.from('"score":');
const CUT = Buffer.from('"isCut":true');
const EMBEDDED = Buffer.from('"tokens":null');
const ERROR = Buffer.from('{"error":');
const NEWLINE = 10;

class Statistics {
	#threshold;
	#bins = new Uint32Array(BINS + 1);
	scored = 0;
	accepted = 0;
	embedded = 0;
	cut = 0;
	errors = 0;
	max = 0;
	/** Rows with no similarity; of those in tables only. */
	uncompared = 0;

	constructor(threshold) {
		this.#threshold = threshold;
	}

	add({ score, isCut, tokens }) {
		this.#score(score);
		if (tokens !== null) this.embedded += 1;
		if (isCut) this.cut += 1;
	}

	/** Counts the rows in whole lines of NDJSON, without making objects. */
	addLines(bytes) {
		let rows = 0;
		for (let at = 0; at < bytes.length; rows += 1) {
			const found = bytes.indexOf(NEWLINE, at);
			const end = found < 0 ? bytes.length : found;
			this.#line(bytes.subarray(at, end));
			at = end + 1;
		}
		return rows;
	}

	#line(line) {
		if (line.subarray(0, ERROR.length).equals(ERROR)) {
			this.errors += 1;
			return;
		}
		const from = line.indexOf(SCORE) + SCORE.length;
		this.#score(Number.parseFloat(line.latin1Slice(from, from + 25)));
		if (line.indexOf(EMBEDDED) < 0) this.embedded += 1;
		if (line.indexOf(CUT) >= 0) this.cut += 1;
	}

	#score(score) {
		this.scored += 1;
		this.#bins[Math.round(score * BINS)] += 1;
		this.max = Math.max(this.max, score);
		if (score >= this.#threshold) this.accepted += 1;
	}

	get share() {
		return this.scored === 0 ? 0 : this.accepted / this.scored;
	}

	/** The smallest score that this share of the traces does not exceed, to 1/10,000. */
	quantile(share) {
		const rank = Math.max(1, Math.ceil(share * this.scored));
		let below = 0;
		for (let bin = 0; bin <= BINS; bin += 1) {
			below += this.#bins[bin];
			if (below >= rank) return bin / BINS;
		}
		return 1;
	}
}

module.exports = { Statistics };
