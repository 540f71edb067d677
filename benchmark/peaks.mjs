/** The peak of this machine, as `cargo bench` measures it, and the shares reached. */

import { spawnSync } from "node:child_process";
import { DIMENSIONS } from "./generate.mjs";
import { SEARCH_METRIC, vectorsCase } from "./measure.mjs";
import { find } from "./report.mjs";
import { ROOT } from "./sides.mjs";

const LAYERS = 6;
const FFN = 4 * DIMENSIONS;

/** Numbers of vectors that are searched by codes, which reads at least an eighth of all bytes. */
const CODED = [100_000, 1_000_000];

/** Runs the benchmarks of the crates, after building them. Undefined where that fails. */
export function measurePeaks() {
	const kernels = cargoBench("embedder", "int8", "best");
	const reading = cargoBench("scoring", "cache", "reading_the_bytes");
	if (kernels === undefined || reading === undefined) return undefined;
	const most = /at most (\d+) GMAC\/s, on \d+ cores (\d+) GMAC/.exec(kernels);
	const [one, all] = (most ?? []).slice(1).map(Number);
	if (one === undefined || all === undefined) {
		throw new Error(`expected the peak of products, found ${kernels}`);
	}
	const lines = kernels.matchAll(/^ {2}(.+?) {2,}.* (\d+) GMAC\/s/gm);
	// The first rate of a case is its fastest.
	const rates = reading.matchAll(/─ (\d+) .*\n[ │]*([\d.]+) GB\/s/g);
	return {
		kernels: Array.from(lines, ([, name = "", rate]) =>
			share(name, "GMAC/s, 1 core (+)", Number(rate), one),
		),
		products: all,
		reading: Object.fromEntries(Array.from(rates, ([, size, rate]) => [size, Number(rate)])),
	};
}

function cargoBench(crate, name, ...args) {
	const { status, stdout } = spawnSync(
		"cargo",
		["bench", "--package", `knowledgepulse-${crate}`, "--bench", name, "--", ...args],
		{ cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
	);
	return status === 0 ? stdout : undefined;
}

/** The shares of the kernels, of whole texts in the fast precision, and of searches. */
export function sharesOf(peaks, rows, stores) {
	const shares = [...peaks.kernels];
	for (const tokens of [20, 128, 512]) {
		const name = `${tokens} tokens`;
		const time = find(rows, name, "p50, ms")?.values.fast;
		if (time === undefined) continue;
		const rate = productsOf(tokens) / time / 1e6;
		shares.push(share(name, "GMAC/s, all cores (+)", rate, peaks.products));
	}
	for (const vectors of CODED) {
		const name = vectorsCase(vectors);
		const time = find(stores, name, SEARCH_METRIC)?.values.ours;
		const peak = peaks.reading[vectors / 8];
		if (time === undefined || peak === undefined) continue;
		const bytes = (vectors / 8) * DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;
		shares.push(share(name, "GB/s (+)", bytes / time / 1000, peak));
	}
	return shares;
}

/** Products of bytes that the model does for a text. */
function productsOf(tokens) {
	const linear = 4 * DIMENSIONS ** 2 + 2 * DIMENSIONS * FFN;
	const attention = 2 * tokens * DIMENSIONS;
	return LAYERS * tokens * (linear + attention);
}

function share(name, metric, measured, peak) {
	return { case: name, metric, values: { measured, peak } };
}
