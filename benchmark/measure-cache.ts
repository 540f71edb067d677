/** The vector cache, called from JavaScript, beside the linear scan and stores from npm. */

import type { Agreement } from "./agreement.js";
import type { CacheRun, StoreRun } from "./cache-process.js";
import { runOnce } from "./child.js";
import type { CachePlan } from "./plan.js";
import { medianRow, type Row, row, STORE_PAIRS } from "./rows.js";
import { STORES, type StoreName } from "./stores.js";

/** How far apart two similarities may be. */
const TOLERANCE = 1e-6;

const DIMENSIONS = 384;
const BYTES = DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;

/** Measures searching and adding, and checks what was found. */
export async function measureCache(
	plan: CachePlan,
	agreement: Agreement,
): Promise<Row[]> {
	const { vectors, searches } = plan;
	const name = `${vectors.toLocaleString("en")} vectors`;
	const args = [vectors, searches].map(String);
	const run = await runOnce<CacheRun>("cache-process.js", "exact", args);
	check(name, run, agreement);

	const found = by(run, (store) => store.searches);
	const rows = [medianRow(name, "greatest cosine, µs", found, STORE_PAIRS)];
	const added = by(run, (store) => store.additions);
	if ((added.get("ours") ?? []).length > 0) {
		rows.push(medianRow(name, "add to a full one, µs", added, STORE_PAIRS));
		return rows;
	}
	const scan = rows[0]?.values.ours ?? Number.NaN;
	// Only ours lies in memory as one block, whose reading can be the yardstick.
	const speed = new Map([["ours", (vectors * BYTES) / scan / 1000]]);
	rows.push(row(name, "bytes scanned, GB/s (+)", speed, STORE_PAIRS));
	return rows;
}

function check(name: string, run: CacheRun, agreement: Agreement): void {
	const expected = run.typescript?.similarities ?? [];
	const queries = expected.map((_, index) => `query ${index}`);
	for (const store of STORES) {
		const found = run[store]?.similarities;
		if (store === "typescript" || found === undefined) continue;
		const what = `${name}, ${store} against the linear scan`;
		agreement.check(what, queries, found, expected, TOLERANCE);
	}
}

function by(
	run: CacheRun,
	values: (store: StoreRun) => number[],
): Map<StoreName, number[]> {
	const stores = STORES.flatMap((name) => {
		const store = run[name];
		return store ? [[name, values(store)] as const] : [];
	});
	return new Map(stores);
}
