/** Vector stores that search every vector for the most similar one. */

import { VectorCache } from "@knowledgepulse/scoring";
import { VectorCache as LinearScan } from "./typescript/vector-cache.js";

/** Ours, the plain loops of the TypeScript way, and two from npm. */
export type StoreName = "ours" | "typescript" | "orama" | "usearch";

export const STORES: readonly StoreName[] = [
	"ours",
	"typescript",
	"orama",
	"usearch",
];

export interface Store {
	/** The greatest cosine similarity to any vector. */
	search(query: Float32Array): number | Promise<number>;
	/** Adds a vector and drops the oldest; absent where there is no such thing. */
	add?(vector: Float32Array): void;
}

/** The two that have a capacity, full. */
export function boundedStores(
	vectors: readonly Float32Array[],
): [StoreName, Store][] {
	const options = { maxElements: vectors.length };
	const caches = [
		["ours", new VectorCache(options)],
		["typescript", new LinearScan(options)],
	] as const;
	return caches.map(([name, cache]) => {
		for (const vector of vectors) cache.add(vector);
		return [
			name,
			{
				search: (query) => cache.maxCosineSimilarity(query),
				add: (vector) => cache.add(vector),
			},
		];
	});
}

/** Those from npm. */
export async function rivalStores(
	vectors: readonly Float32Array[],
): Promise<[StoreName, Store][]> {
	return [
		["orama", await oramaStore(vectors)],
		["usearch", await usearchStore(vectors)],
	];
}

/** Plain JavaScript: loops over a map, with the lengths of the vectors kept. */
async function oramaStore(vectors: readonly Float32Array[]): Promise<Store> {
	const { create, insert, search } = await import("@orama/orama");
	const dimensions = vectors[0]?.length ?? 0;
	const schema = { vector: `vector[${dimensions}]` } as const;
	const database = create({ schema });
	for (const vector of vectors) {
		await insert(database, { vector: Array.from(vector) });
	}
	return {
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
async function usearchStore(vectors: readonly Float32Array[]): Promise<Store> {
	const { exactSearch, MetricKind } = await import("usearch");
	const dimensions = vectors[0]?.length ?? 0;
	const matrix = new Float32Array(vectors.length * dimensions);
	for (const [row, vector] of vectors.entries()) {
		matrix.set(vector, row * dimensions);
	}
	return {
		search(query) {
			const { Cos } = MetricKind;
			const found = exactSearch(matrix, query, dimensions, 1, Cos, 1);
			return 1 - ((found.distances as Float32Array)[0] ?? Number.NaN);
		},
	};
}
