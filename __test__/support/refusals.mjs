/** Checks of refused options. */

import assert from "node:assert/strict";
import { ScoringError } from "@knowledgepulse/scoring";

/** Fails unless `call` throws an error for the option at `path`, whose message includes `rest`. */
export function assertRefused(call, path, rest) {
	assert.throws(call, (error) => {
		assert.ok(error instanceof ScoringError);
		const { name, code } = error;
		assert.deepEqual([name, code, error.path], ["ScoringError", "INVALID_OPTION", path]);
		assert.ok(error.message.startsWith(`${path}: `), error.message);
		assert.ok(error.message.includes(rest), error.message);
		return true;
	});
}
