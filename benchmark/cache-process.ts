/** A process in which the vector stores take turns: node cache-process.js SIDE VECTORS SEARCHES. */

import { generateVectors } from "./generate.js";
import { BOUNDED, emptyStores, STORES, type Store, type StoreName } from "./stores.js";

/** What one store did; times in microseconds. */
export interface StoreRun {
	/** The greatest cosine similarity to each query. */
	similarities: number[];
	/** Of each search. */
	searches: number[];
	/** Of adding one vector to a full store; none where there is no capacity. */
	additions: number[];
}

export type CacheRun = Partial<Record<StoreName, StoreRun>>;

const MOST_WARM_UPS = 20;
const TURNS = 5;

/** So many vectors are added between two looks at the clock. */
const BLOCK = 100;
const BLOCKS = 20;

/** With more vectors than this, Orama takes too long, and adding to an array of entries. */
const MANY = 10_000;

async function search(
	store: Store,
	queries: readonly Float32Array[],
	run: StoreRun,
): Promise<void> {
	for (const query of queries) {
		const start = performance.now();
		const found = store.search(query);
		// Waiting for what is no promise would be measured, too.
		const similarity = typeof found === "number" ? found : await found;
		run.searches.push(1000 * (performance.now() - start));
		run.similarities.push(similarity);
	}
}

function add(store: Store, vectors: readonly Float32Array[], run: StoreRun): void {
	for (let first = 0; first < vectors.length; first += BLOCK) {
		const block = vectors.slice(first, first + BLOCK);
		const start = performance.now();
		for (const vector of block) store.add(vector);
		run.additions.push((1000 * (performance.now() - start)) / block.length);
	}
}

function noRun(): StoreRun {
	return { similarities: [], searches: [], additions: [] };
}

async function main(): Promise<void> {
	const [size = 0, searches = 0] = process.argv.slice(3).map(Number);
	const names = STORES.filter((name) => name !== "orama" || size <= MANY);
	const contenders = await emptyStores(names, size);
	for (const vector of generateVectors(size)) {
		for (const [, store] of contenders) await store.add(vector);
	}

	const warmUp = [...generateVectors(Math.min(searches / 5, MOST_WARM_UPS), 3)];
	for (const [, store] of contenders) await search(store, warmUp, noRun());
	const queries = [...generateVectors(searches, 1)];
	const runs = new Map(contenders.map(([name]) => [name, noRun()]));
	const share = Math.ceil(searches / TURNS);
	for (let first = 0; first < queries.length; first += share) {
		for (const [name, store] of contenders) {
			const run = runs.get(name) as StoreRun;
			await search(store, queries.slice(first, first + share), run);
		}
	}
	const added = size <= MANY ? [...generateVectors(BLOCK * BLOCKS, 2)] : [];
	for (const [name, store] of contenders) {
		if (!BOUNDED.includes(name)) continue;
		add(store, added, runs.get(name) as StoreRun);
	}
	process.send?.(Object.fromEntries(runs) satisfies CacheRun);
}

void main();
