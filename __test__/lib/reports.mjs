/** Reports of single traces, scored in this process. */

import assert from "node:assert/strict";
import { _getLocalCache, explainValue } from "../../index.mjs";

/** The report of a trace that is compared with nothing: its novelty is 0.5. */
export function explainAlone(value) {
	_getLocalCache().clear();
	return explainValue(value);
}

/** Fails unless two numbers are equal up to the rounding of a few operations. */
export function assertClose(found, expected, message) {
	assert.ok(
		Math.abs(found - expected) <= 1e-12,
		`${message}: ${found} for ${expected}`,
	);
}
