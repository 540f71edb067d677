/** First in, first out, searched by a linear scan. */
export class VectorCache {
	#entries = [];
	#maxElements;
	#ttlMs;

	constructor(options = {}) {
		this.#maxElements = options.maxElements ?? 1000;
		this.#ttlMs = options.ttlMs ?? Number.POSITIVE_INFINITY;
	}

	get size() {
		this.evictExpired();
		return this.#entries.length;
	}

	add(vector) {
		this.evictExpired();
		this.#entries.push({ vector: Float32Array.from(vector), addedAt: performance.now() });
		while (this.#entries.length > this.#maxElements) this.#entries.shift();
	}

	maxCosineSimilarity(query) {
		this.evictExpired();
		// Without this the loop would be compiled for every kind of array at once.
		const asked = Float32Array.from(query);
		let greatest = Number.NEGATIVE_INFINITY;
		for (const { vector } of this.#entries) {
			const similarity = cosineSimilarity(asked, vector);
			if (similarity > greatest) greatest = similarity;
		}
		return this.#entries.length === 0 ? 0 : greatest;
	}

	evictExpired() {
		if (this.#ttlMs === Number.POSITIVE_INFINITY) return;
		const now = performance.now();
		this.#entries = this.#entries.filter((entry) => now - entry.addedAt < this.#ttlMs);
	}

	clear() {
		this.#entries = [];
	}
}

/** In [-1, 1] but for rounding; 0 against a zero vector. Both have the same length. */
function cosineSimilarity(a, b) {
	let dot = 0;
	let squaresOfA = 0;
	let squaresOfB = 0;
	for (let i = 0; i < a.length; i++) {
		const x = a[i];
		const y = b[i];
		dot += x * y;
		squaresOfA += x * x;
		squaresOfB += y * y;
	}
	const norms = Math.sqrt(squaresOfA) * Math.sqrt(squaresOfB);
	return norms === 0 ? 0 : dot / norms;
}
