/** Options of a {@link VectorCache}. */
export interface VectorCacheOptions {
	/** The maximum number of vectors, 1 to 2^32 - 1. Default: `1000`. */
	maxElements?: number | undefined;
	/** The length of every vector, 1 to 2^32 - 1. Default: `384`. */
	dimensions?: number | undefined;
	/** The age at which a vector expires, in milliseconds, 0 or more. Default: never. */
	ttlMs?: number | undefined;
}

/**
 * A bounded first-in, first-out store of vectors of `dimensions` finite numbers; others throw
 * `"INVALID_VECTOR"`.
 * @example
 * ```ts
 * import { VectorCache } from "@knowledgepulse/scoring";
 * const cache = new VectorCache({ dimensions: 3 });
 * cache.add([1, 0, 0]);
 * cache.maxCosineSimilarity([1, 1, 0]); // 0.7071…
 * ```
 */
export class VectorCache {
	/** @throws `"INVALID_OPTION"`. */
	constructor(options?: VectorCacheOptions);
	/** The number of vectors that have not expired. */
	get size(): number;
	/** Adds a copy of a vector, and removes the oldest one from a full cache. */
	add(vector: ArrayLike<number>): void;
	/** Returns the greatest cosine similarity, in [-1, 1]; 0 for an empty cache or a zero vector. */
	maxCosineSimilarity(query: ArrayLike<number>): number;
	/** Removes expired vectors, which other methods ignore. */
	evictExpired(): void;
	clear(): void;
}
