/** Values to score, and the comparison of the engine with the oracle. */

import fc from "fast-check";
import { mutate, mutations } from "./mutations.mjs";
import { shapes } from "./shapes.mjs";

/** A trace, the shape in which it is given, and what is damaged in it; see {@link built}. */
export const anyValue = (trace) =>
	fc.record({
		trace,
		shape: fc.oneof(
			{ weight: 6, arbitrary: fc.constant("plain") },
			{ weight: 2, arbitrary: fc.constantFrom(...Object.keys(shapes)) },
		),
		damage: fc.oneof(
			{ weight: 6, arbitrary: fc.constant([]) },
			{ weight: 1, arbitrary: mutations },
		),
	});

/** Makes the value of {@link anyValue}. */
export function built({ trace, shape, damage }) {
	const plain = structuredClone(trace);
	if (damage.length > 0) return mutate(plain, damage);
	return shape === "plain" ? plain : shapes[shape](plain);
}

/** The value of a promise, or the error that it rejected with. */
export const settled = (promise) => promise.catch((error) => error);

/**
 * Returns the difference of a score from that of the oracle, 0 for the same bits; Infinity unless both
 * are scores, or both reject the value at the same place.
 */
export function difference(found, { score, faults }) {
	if (faults) return isRejection(found, faults) ? 0 : Number.POSITIVE_INFINITY;
	if (Object.is(found, score)) return 0;
	const apart = Math.abs(found - score);
	// 0 and -0 are different; anything that is not a number gives NaN.
	return apart > 0 ? apart : Number.POSITIVE_INFINITY;
}

function isRejection(found, faults) {
	const { name, code, path, message } = found ?? {};
	return (
		found instanceof Error &&
		name === "InvalidTraceError" &&
		code === "INVALID_TRACE" &&
		faults.includes(path) &&
		message.startsWith(`${path}: expected `) &&
		/, got /.test(message)
	);
}
