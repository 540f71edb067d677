/** The value below which a share of the values lies (nearest rank); `share` is in (0, 1]. */
export function quantile(values: readonly number[], share: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	const rank = Math.max(1, Math.ceil(share * sorted.length));
	return sorted[rank - 1] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
	return quantile(values, 0.5);
}

/** The lower and the upper quartile. */
export function quartiles(values: readonly number[]): [number, number] {
	return [quantile(values, 0.25), quantile(values, 0.75)];
}

export function sum(values: readonly number[]): number {
	return values.reduce((total, value) => total + value, 0);
}
