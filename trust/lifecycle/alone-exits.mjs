/** Processes in which a worker alone has the addon, and which end in every way. */
import { draws } from "../lib/draw.mjs";
import { finding } from "../lib/finding.mjs";
import { inLanes } from "../lib/lanes.mjs";
import { assertSameEnd, endOf } from "./ends.mjs";
import { moments, works } from "./exiting.mjs";

/** Starts the one worker, and does what the main thread is to do when it is ready to end. */
async function program({ input }) {
	const { Worker } = await import("node:worker_threads");
	const { pathToFileURL } = await import("node:url");
	const folder = pathToFileURL(`${process.cwd()}/../trust/lifecycle/`);
	const worker = new Worker(new URL("alone.mjs", folder), {
		workerData: input,
		execArgv: [],
	});
	worker.on("message", () => {
		if (input.main === "exits") process.exit(input.code);
		if (input.main === "terminates it") worker.terminate();
	});
	worker.on("exit", (code) => {
		process.exitCode = code;
	});
	if (input.main === "hears of the error") worker.on("error", () => {});
}

/** How worker and main thread go about the end. */
const ENDS = [
	{ way: "return", main: "waits" },
	{ way: "process.exit", main: "waits" },
	{ way: "uncaught throw", main: "waits" },
	{ way: "uncaught throw", main: "hears of the error" },
	{ way: "a signal", main: "exits" },
	{ way: "a signal", main: "terminates it" },
	{ way: "a signal", main: "waits", signal: "SIGTERM" },
	{ way: "a signal", main: "waits", signal: "SIGINT" },
];

/** Ends `times` such processes. */
export async function aloneExits({ times, seed, log }) {
	let slowest = 0;
	await inLanes(times, async (index) => {
		const draw = draws(seed + index);
		const end = ENDS[index % ENDS.length];
		const input = {
			...end,
			work: draw.of(works.filter((work) => !work.includes("saved"))),
			moment: draw.of(moments),
			count: 1 + draw.below(end.way === "return" ? 8 : 40),
			delay: draw.below(200),
			code: draw.below(100),
			seed: draw.below(2 ** 30),
		};
		const runtime = draw.of(["onnxruntime", "rust"]);
		const env = { KNOWLEDGEPULSE_SCORING_RUNTIME: runtime };
		try {
			const [without, ended] = await Promise.all([
				endOf({ ...input, addon: false }, { body: program }),
				endOf({ ...input, addon: true }, { body: program, env }),
			]);
			assertSameEnd(ended, without);
			slowest = Math.max(slowest, ended.took);
		} catch (error) {
			throw finding(
				error,
				`seed ${seed + index}, ${runtime}: ${JSON.stringify(input)}`,
			);
		}
	});
	const found = `as without the addon, slowest end ${slowest.toFixed()} ms`;
	log(`the addon in a worker alone: ${times}, ${found}`);
	return [
		{
			what: "the addon in a worker alone, ended in every way",
			tried: `${times}`,
			found,
		},
	];
}
