/** Under load nothing is lost or out of order, and the queue holds only what somebody waits for. */
import assert from "node:assert/strict";
import { valueFrom } from "../__test__/lib/child.mjs";
import { anySeed } from "./lib/draw.mjs";
import { main } from "./lib/main.mjs";

export const title = "Load";

const WIDTH = 256;
/** A call keeps the text that the model can see, and no more of it. */
const BYTES_PER_CALL = 32_000;

async function program({ scoring, input }) {
	const loading = await import("../trust/load/loading.mjs");
	return loading[input.what](scoring, input);
}

export async function run({ short, log }) {
	const seed = anySeed();
	log(`load: seed ${seed}`);
	const ask = (input) => valueFrom(program, { input: { seed, ...input } });
	const ms = short ? 8_000 : 60_000;
	const crowd = await ask({ what: "crowd", width: WIDTH, ms });
	const { latency, delay, memory } = crowd;
	const mb = (bytes) => `${Math.round(bytes / 1e6)} MB`;
	const rows = [
		{
			what: `${WIDTH} calls in flight, sizes mixed, bad ones and aborted ones among them`,
			tried: `${crowd.calls} calls in ${crowd.seconds.toFixed()} s`,
			found: `${crowd.scores} scores, ${crowd.early} of them early, ${crowd.refused} refused, ${crowd.aborted} aborted; none lost, none out of order; at most ${crowd.mostPending} pending`,
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
	const endless = await ask({ what: "endless", ms: ms / 6 });
	rows.push({
		what: "evaluateValues over an endless source, ended by a signal",
		tried: `${endless.drawn} traces`,
		found: `at most ${endless.most} in flight, none after the end`,
	});
	const bytes = await ask({ what: "waiting", count: short ? 1_000 : 4_000 });
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
