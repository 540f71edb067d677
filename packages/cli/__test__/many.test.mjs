import assert from "node:assert/strict";
import { test } from "node:test";
import { assertEnds, file, linesOf, OFF, rowsOf, traceOf } from "./support.mjs";

const runOf = (n) => traceOf(n, { metadata: { created_at: new Date(1e12 + n).toISOString() } });

test("kp-score orders thousands of files by their times, and reports each that is no log", async () => {
	const count = 2500;
	for (let n = 0; n < count; n++)
		// Names and times are in opposite orders.
		file(`many/${String(count - n).padStart(4, "0")}.jsonl`, linesOf([runOf(n)]));
	file("many/0000.jsonl", "no log");
	const ids = (await rowsOf(["score", "many", ...OFF])).map(({ id }) => id);
	const expected = Array.from({ length: count }, (_, n) => traceOf(n).id);
	assert.deepEqual(ids, expected);
	const { stderr } = await assertEnds(0, ["score", "many", ...OFF]);
	assert.match(stderr, /skipped 1 file without a log of an agent, such as many.0000\.jsonl/);
});
