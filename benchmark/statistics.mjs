/** Quantiles of measurements. */

/** The value below which a share of the values lies (nearest rank); `share` is in (0, 1]. */
export function quantile(values, share) {
	const sorted = [...values].sort((a, b) => a - b);
	const rank = Math.max(1, Math.ceil(share * sorted.length));
	return sorted[rank - 1] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	const upper = Math.floor(sorted.length / 2);
	const lower = Math.ceil(sorted.length / 2) - 1;
	return ((sorted[lower] ?? Number.NaN) + (sorted[upper] ?? Number.NaN)) / 2;
}

/** The lower and the upper quartile. */
export function quartiles(values) {
	return [quantile(values, 0.25), quantile(values, 0.75)];
}
