/** Holds what the engine gives against what the oracle says. */

/** What a promise of the engine came to: a score, or the error it rejected with. */
export const settled = (promise) => promise.catch((error) => error);

/** What each promise of a batch came to. */
export const settledAll = async (scorer, values) =>
	(await scorer.evaluateValues(values, { errors: "collect" })).map((found) => found.error ?? found);

/**
 * Fails unless `found`, a score or an error, is what the oracle says; gives the distance of two scores.
 * A distance of more than `tolerance` is a failure, and with a tolerance of 0 so are other bits.
 */
export function distance(found, expected, tolerance = 0) {
	if (expected.faults) {
		checkRefusal(found, expected.faults);
		return 0;
	}
	const { score } = expected;
	if (Object.is(found, score)) return 0;
	const apart = Math.abs(found - score);
	// Written so that NaN is a failure.
	if (tolerance > 0 && apart <= tolerance) return apart;
	throw new Error(`the engine gives ${told(found)}, the oracle ${score}`);
}

function checkRefusal(found, faults) {
	const { code, path, message } = found ?? {};
	const isRefusal =
		found instanceof Error &&
		found.name === "InvalidTraceError" &&
		code === "INVALID_TRACE" &&
		faults.includes(path) &&
		message.startsWith(`${path}: expected `) &&
		/, got /.test(message);
	if (!isRefusal)
		throw new Error(`the engine gives ${told(found)}, the oracle finds fault with ${faults}`);
}

function told(found) {
	return found instanceof Error
		? `${found.code} at ${found.path}: ${found.message}`
		: String(found);
}
