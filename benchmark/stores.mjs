/** Vector stores that search every vector for the most similar one. */

import { VectorCache } from "@knowledgepulse/scoring";
import { VectorCache as LinearScan } from "../__test__/oracle/vector-cache.mjs";
import { DIMENSIONS } from "./generate.mjs";

export const STORES = ["ours", "typescript", "usearch"];

/** Those that drop the oldest vector when they are full. */
export const BOUNDED = ["ours", "typescript"];

/** Returns empty stores with room for `size` vectors. */
export function emptyStores(size) {
	const make = {
		ours: () => cacheStore(new VectorCache({ maxElements: size })),
		typescript: () => cacheStore(new LinearScan({ maxElements: size })),
		usearch: () => usearchStore(size),
	};
	return Promise.all(STORES.map(async (name) => [name, await make[name]()]));
}

function cacheStore(cache) {
	return {
		add: (vector) => cache.add(vector),
		search: (query) => cache.maxCosineSimilarity(query),
	};
}

/** Native code with SIMD, over one matrix; one thread, as ours. */
async function usearchStore(size) {
	const { exactSearch, MetricKind } = await import("usearch");
	const matrix = new Float32Array(size * DIMENSIONS);
	let end = 0;
	return {
		add(vector) {
			matrix.set(vector, end);
			end += vector.length;
		},
		search(query) {
			const { Cos } = MetricKind;
			const found = exactSearch(matrix, query, DIMENSIONS, 1, Cos, 1);
			return 1 - (found.distances[0] ?? Number.NaN);
		},
	};
}
