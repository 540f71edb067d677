/** Vector stores that search every vector for the most similar one. */

import { VectorCache } from "@knowledgepulse/scoring";
import { DIMENSIONS } from "./generate.js";
import { VectorCache as LinearScan } from "./typescript/vector-cache.js";

/** Ours, the plain loops of the TypeScript way, and two from npm. */
export type StoreName = "ours" | "typescript" | "orama" | "usearch";

export const STORES: readonly StoreName[] = ["ours", "typescript", "orama", "usearch"];

export interface Store {
	/** Adds a vector. */
	add(vector: Float32Array): unknown;
	/** The greatest cosine similarity to any vector. */
	search(query: Float32Array): number | Promise<number>;
}

/** Those that drop the oldest vector when they are full. */
export const BOUNDED: readonly StoreName[] = ["ours", "typescript"];

/** Empty stores with room for so many vectors. */
export function emptyStores(
	names: readonly StoreName[],
	size: number,
): Promise<[StoreName, Store][]> {
	const make: Record<StoreName, () => Store | Promise<Store>> = {
		ours: () => cacheStore(new VectorCache({ maxElements: size })),
		typescript: () => cacheStore(new LinearScan({ maxElements: size })),
		orama: oramaStore,
		usearch: () => usearchStore(size),
	};
	return Promise.all(names.map(async (name) => [name, await make[name]()]));
}

function cacheStore(cache: VectorCache | LinearScan): Store {
	return {
		add: (vector) => cache.add(vector),
		search: (query) => cache.maxCosineSimilarity(query),
	};
}

/** Plain JavaScript: loops over a map, with the lengths of the vectors kept. */
async function oramaStore(): Promise<Store> {
	const { create, insert, search } = await import("@orama/orama");
	const schema = { vector: `vector[${DIMENSIONS}]` } as const;
	const database = create({ schema });
	return {
		add: (vector) => insert(database, { vector: Array.from(vector) }),
		async search(query) {
			const results = await search(database, {
				mode: "vector",
				vector: { value: Array.from(query), property: "vector" },
				// Sorting less than half is to its advantage; the best of many is above 0.
				similarity: 0,
				limit: 1,
			});
			return results.hits[0]?.score ?? Number.NaN;
		},
	};
}

/** Native code with SIMD, over one matrix; one thread, as ours. */
async function usearchStore(size: number): Promise<Store> {
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
			return 1 - ((found.distances as Float32Array)[0] ?? Number.NaN);
		},
	};
}
