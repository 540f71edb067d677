import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { assertEnds, file, folder, kpScore, linesOf, parsed, rowsOf, traceOf } from "./support.mjs";

const THRESHOLD = 0.6;

/** Traces of every kind: always accepted, always rejected, and undecided by bounds; some are repeated. */
const traces = Array.from({ length: 24 }, (_, n) => {
	const confidence = [0.9, 0.1, 1, 0][n % 4];
	const trace = traceOf(n, { confidence, objective: `Fix test number ${n % 7}` });
	const tools =
		n % 3 ? [] : [1, 2, 3].map((name) => ({ type: "tool_call", tool: { name: `${name}` } }));
	return { ...trace, steps: [...trace.steps, ...tools] };
});
const runs = file("runs-to-decide.jsonl", linesOf(traces));
const DECIDE = ["score", runs, "--decide", "--threshold", String(THRESHOLD)];

/** The decisions by scores. */
async function exactly() {
	const scorer = new Scorer({ threshold: THRESHOLD });
	const decisions = [];
	for (const trace of traces) decisions.push(await scorer.decide(trace, { exact: true }));
	return decisions;
}

test("kp-score score --decide decides as by scores, and says how many texts the model saw", async () => {
	const { stdout, stderr } = await assertEnds(0, DECIDE);
	const rows = parsed(stdout);
	const expected = await exactly();
	assert.equal(rows.length, traces.length);
	for (const [at, { id, accepted, score, bounds }] of rows.entries()) {
		const of = expected[at];
		assert.deepEqual([id, accepted, bounds], [traces[at].id, of.accepted, of.bounds]);
		if (score !== null) assert.equal(score, of.score);
	}
	const accepted = rows.filter((row) => row.accepted).length;
	const seen = rows.filter((row) => row.accepted || row.score !== null).length;
	assert.ok(seen < traces.length && accepted > 0, `${seen}, ${accepted}`);
	assert.match(
		stderr,
		new RegExp(`^${accepted} of 24 traces .* score 0.6 or more; the model saw ${seen} texts$`, "m"),
	);
});

test("kp-score score --decide adds accepted runs to the memory and to the store", async () => {
	const accepted = (await exactly()).filter((decision) => decision.accepted).length;
	for (const args of [
		["--memory", "decided.kpcache"],
		["--store", "sqlite:decided.db?create=1"],
	]) {
		const decisions = async () => (await rowsOf([...DECIDE, ...args])).map((row) => row.accepted);
		assert.deepEqual(await decisions(), await decisions());
	}
	const memory = await Scorer.load(join(folder, "decided.kpcache"));
	assert.equal(memory.status().cacheSize, accepted);
	memory.close();
});

test("kp-score warns once of a domain that resembles another", async () => {
	const named = [1, 2, 3].map((n) => traceOf(n, { metadata: { task_domain: "code-review" } }));
	const input = linesOf(named);
	for (const command of [
		["score", "-"],
		["score", "-", "--decide"],
		["explain", "-"],
	]) {
		const { stderr } = await kpScore(command, { input });
		assert.equal(stderr.split('"code-review" has the default weights').length, 2, stderr);
	}
	const even = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	const profiles = file("own.json", JSON.stringify({ "code-review": even }));
	const { stderr } = await kpScore(["score", "-", "--profiles", profiles], { input });
	assert.doesNotMatch(stderr, /default weights/);
});
