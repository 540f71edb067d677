/** Quantiles of measurements, times of calls, and the delay of the event loop. */

import { monitorEventLoopDelay } from "node:perf_hooks";

/** The quantile of values (nearest rank); `share` is in (0, 1]. */
export function quantile(values, share) {
	const sorted = [...values].sort((a, b) => a - b);
	const rank = Math.max(1, Math.ceil(share * sorted.length));
	return sorted[rank - 1];
}

/** The middle value, or the mean of the two in the middle. */
export function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length / 2;
	return (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
}

/** The lower and the upper quartile. */
export function quartiles(values) {
	return [quantile(values, 0.25), quantile(values, 0.75)];
}

/** The result of `work`, and the delay of the event loop meanwhile, in milliseconds. */
export async function watched(work) {
	const delay = monitorEventLoopDelay({ resolution: 1 });
	delay.enable();
	const result = await work();
	delay.disable();
	return { result, loop: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 } };
}

/**
 * Calls `call` for each item in order, with `inFlight` at once. Returns the results, and the milliseconds of
 * each call and in total.
 */
export async function timed(items, inFlight, call) {
	const results = [];
	const times = [];
	const queue = items.entries();
	async function caller() {
		// All callers draw from the same iterator.
		for (const [index, item] of queue) {
			const start = performance.now();
			results[index] = await call(item);
			times[index] = performance.now() - start;
		}
	}
	const start = performance.now();
	await Promise.all(Array.from({ length: inFlight }, caller));
	return { results, times, elapsed: performance.now() - start };
}
