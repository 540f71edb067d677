/** Lost and wrong answers, and memory, under load. `--seed N` repeats a run. */
import assert from "node:assert/strict";
import { valueIn } from "./lib/child.mjs";
import { seedOfRun } from "./lib/draw.mjs";
import { main } from "./lib/main.mjs";

export const title = "Load";

const WIDTH = 256;
/** A call keeps the text that the model can see, and no more of it. */
const BYTES_PER_CALL = 32_000;

export async function run({ short, log }) {
	const seed = seedOfRun();
	log(`load: seed ${seed}`);
	const ask = (name, input) => valueIn("load/loading.mjs", name, { input: { seed, ...input } });
	const ms = short ? 5_000 : 60_000;
	const crowd = await ask("crowd", { width: WIDTH, ms });
	const { latency, delay, memory } = crowd;
	const mb = (bytes) => `${Math.round(bytes / 1e6)} MB`;
	const rows = [
		{
			what: `${WIDTH} calls in flight, sizes mixed, bad ones and aborted ones among them`,
			tried: `${crowd.calls} calls in ${crowd.seconds.toFixed()} s`,
			found: `${crowd.scores} scores, ${crowd.refused} refused, ${crowd.aborted} aborted; none lost, none out of order; at most ${crowd.mostPending} pending`,
		},
		{
			what: "latency under it",
			tried: `${crowd.scores} scores`,
			found: `p50 ${latency.p50} ms, p90 ${latency.p90} ms, p99 ${latency.p99} ms, greatest ${latency.max} ms`,
		},
		{
			what: "event loop and memory under it",
			tried: `${crowd.seconds.toFixed()} s`,
			found: `delay p99 ${delay.p99.toFixed(1)} ms, greatest ${delay.max.toFixed()} ms; resident ${mb(memory.before)} before, ${mb(memory.most)} at most, ${mb(memory.after)} after`,
		},
	];
	// Less than most of these calls waited.
	const budgetMs = Math.ceil(latency.p50 / 2);
	const shed = await ask("crowd", { width: WIDTH, ms: ms / 2, budgetMs });
	assert.ok(shed.over > 0, "no call was over its budget");
	rows.push({
		what: `the same with a budget of ${budgetMs} ms`,
		tried: `${shed.calls} calls in ${shed.seconds.toFixed()} s`,
		found: `${shed.scores} scores, ${shed.over} calls over budget, which left no mark in the cache`,
	});
	const endless = await ask("endless", { ms: ms / 6 });
	rows.push({
		what: "evaluateValues over an endless source, ended by a signal",
		tried: `${endless.drawn} traces`,
		found: `at most ${endless.most} in flight, none after the end`,
	});
	const bytes = await ask("waiting", { count: short ? 1_000 : 4_000 });
	for (const [size, found] of Object.entries(bytes))
		assert.ok(found < BYTES_PER_CALL, `${size}: ${found} bytes a call`);
	rows.push({
		what: "memory of a call that waits",
		tried: Object.keys(bytes).join(", "),
		found: `${Object.values(bytes).join(", ")} bytes`,
	});
	for (const row of rows) log(`${row.what}: ${row.tried}: ${row.found}`);
	return rows;
}

await main(import.meta.url, { title, run });
