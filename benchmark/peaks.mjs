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
	const kernels = cargoBench("embedder", "kernels", "best");
	const reading = cargoBench("scoring", "cache", "reading_the_bytes");
	if (kernels === undefined || reading === undefined) return undefined;
	const shares = [];
	const all = {};
	for (const [section, precision, tokens, one, unit, both] of kernels.matchAll(SECTION)) {
		all[precision] = Number(both);
		if (precision === "exact" && tokens !== "512") continue;
		for (const [, name = "", rate] of section.matchAll(/^ {2}(.+?) {2,}.* (\d+) G\w+\/s/gm))
			shares.push(share(`${precision}, ${name}`, `${unit}, 1 core (+)`, Number(rate), Number(one)));
	}
	if (!(all.exact && all.fast)) throw new Error(`expected the peaks of products, found ${kernels}`);
	// The first rate of a case is its fastest.
	const rates = reading.matchAll(/─ (\d+) .*\n[ │]*([\d.]+) GB\/s/g);
	return {
		kernels: shares,
		all,
		reading: Object.fromEntries(Array.from(rates, ([, size, rate]) => [size, Number(rate)])),
	};
}

/** What the benchmark prints of a precision: tokens, the peak on one core, its unit, the peak on all, and lines. */
const SECTION =
	/^\S+ (exact|fast), (?:\d+ of )?(\d+) tokens, at most (\d+) (\S+), on \d+ cores (\d+) \S+\n(?: .*\n)*/gm;

function cargoBench(crate, name, ...args) {
	const { status, stdout } = spawnSync(
		"cargo",
		["bench", "--package", `knowledgepulse-${crate}`, "--bench", name, "--", ...args],
		{ cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
	);
	return status === 0 ? stdout : undefined;
}

/** The shares of the kernels, of whole texts, and of searches. */
export function sharesOf(peaks, rows, stores) {
	const shares = [...peaks.kernels];
	for (const [precision, unit, perProduct] of [
		["exact", "GFLOP/s", 2],
		["fast", "GMAC/s", 1],
	]) {
		for (const tokens of [20, 128, 512]) {
			const time = find(rows, `${tokens} tokens`, "p50, ms")?.values[precision];
			if (time === undefined) continue;
			const rate = (perProduct * productsOf(tokens)) / time / 1e6;
			const name = `${precision}, ${tokens} tokens`;
			shares.push(share(name, `${unit}, all cores (+)`, rate, peaks.all[precision]));
		}
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

/** The products that the model computes for a text. */
function productsOf(tokens) {
	const linear = 4 * DIMENSIONS ** 2 + 2 * DIMENSIONS * FFN;
	const attention = 2 * tokens * DIMENSIONS;
	return LAYERS * tokens * (linear + attention);
}

function share(name, metric, measured, peak) {
	return { case: name, metric, values: { measured, peak } };
}
