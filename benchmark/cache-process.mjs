/**
 * A process in which vector stores alternately search for the most similar vector: node
 * cache-process.mjs SIDE VECTORS SEARCHES
 */

import { VectorCache } from "@knowledgepulse/scoring";
import { VectorCache as LinearScan } from "../__test__/oracle/vector-cache.mjs";
import { DIMENSIONS, generateVectors } from "./generate.mjs";
import { mapValues } from "./report.mjs";

/** The stores that evict the oldest vector. */
const BOUNDED = ["ours", "typescript"];

const MOST_WARM_UPS = 20;
const TURNS = 5;

/** Vectors added between two readings of the clock. */
const BLOCK = 100;
const BLOCKS = 20;

/** With more vectors than this, adding to an array of entries takes too long. */
const MANY = 10_000;

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
			const { distances } = exactSearch(matrix, query, DIMENSIONS, 1, MetricKind.Cos, 1);
			return 1 - distances[0];
		},
	};
}

function search(store, queries, run) {
	for (const query of queries) {
		const start = performance.now();
		const similarity = store.search(query);
		run.searches.push(1000 * (performance.now() - start));
		run.similarities.push(similarity);
	}
}

function add(store, vectors, run) {
	for (let first = 0; first < vectors.length; first += BLOCK) {
		const block = vectors.slice(first, first + BLOCK);
		const start = performance.now();
		for (const vector of block) store.add(vector);
		run.additions.push((1000 * (performance.now() - start)) / block.length);
	}
}

const noRun = () => ({ similarities: [], searches: [], additions: [] });

const [size, searches] = process.argv.slice(3).map(Number);
const stores = {
	ours: cacheStore(new VectorCache({ maxElements: size })),
	typescript: cacheStore(new LinearScan({ maxElements: size })),
	usearch: await usearchStore(size),
};
for (const vector of generateVectors(size)) {
	for (const store of Object.values(stores)) store.add(vector);
}

const warmUp = [...generateVectors(Math.min(searches / 5, MOST_WARM_UPS), 3)];
for (const store of Object.values(stores)) search(store, warmUp, noRun());
const queries = [...generateVectors(searches, 1)];
const runs = mapValues(stores, noRun);
const share = Math.ceil(searches / TURNS);
for (let first = 0; first < queries.length; first += share) {
	const some = queries.slice(first, first + share);
	for (const [name, store] of Object.entries(stores)) search(store, some, runs[name]);
}
const added = size <= MANY ? [...generateVectors(BLOCK * BLOCKS, 2)] : [];
for (const name of BOUNDED) add(stores[name], added, runs[name]);
process.send({ result: runs });
