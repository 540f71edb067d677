/** The vector cache, called from JavaScript, beside the linear scan and stores from npm. */

import { runOnce } from "./processes.mjs";
import { medianRow, STORE_PAIRS } from "./results.mjs";
import { STORES } from "./stores.mjs";

/** Tolerance between two similarities. */
const TOLERANCE = 1e-6;

export const SEARCH_METRIC = "greatest cosine, µs";

/** Returns the name of the case with `count` vectors. */
export function vectorsCase(count) {
	return `${count.toLocaleString("en")} vectors`;
}

/** Measures searching and adding, and checks what was found. */
export async function measureCache(plan, agreement) {
	const { vectors, searches } = plan;
	const name = vectorsCase(vectors);
	const args = [vectors, searches].map(String);
	const run = await runOnce("cache-process.mjs", "exact", args);
	check(name, run, agreement);

	const found = by(run, (store) => store.searches);
	const rows = [medianRow(name, SEARCH_METRIC, found, STORE_PAIRS)];
	const added = by(run, (store) => store.additions);
	if (added.get("ours")?.length) {
		rows.push(medianRow(name, "add to a full one, µs", added, STORE_PAIRS));
	}
	return rows;
}

function check(name, run, agreement) {
	const expected = run.typescript?.similarities ?? [];
	const queries = expected.map((_, index) => `query ${index}`);
	for (const store of STORES) {
		const found = run[store]?.similarities;
		if (store === "typescript" || found === undefined) continue;
		const what = `${name}, ${store} against the linear scan`;
		agreement.check(what, queries, found, expected, TOLERANCE);
	}
}

function by(run, values) {
	const stores = STORES.flatMap((name) => {
		const store = run[name];
		return store ? [[name, values(store)]] : [];
	});
	return new Map(stores);
}
