/** Processes in which only a worker has the addon, and which end in every way. */
import { inTurn } from "../../lib/process.mjs";
import { BACKENDS } from "../lib/child.mjs";
import { draws } from "../lib/draw.mjs";
import { finding } from "../lib/finding.mjs";
import { assertSameEnd, endOf } from "./ends.mjs";
import { moments, works } from "./exiting.mjs";

/** How the worker ends, and what the main thread does. */
const ENDS = [
	{ way: "return", main: "waits" },
	{ way: "process.exit", main: "waits" },
	{ way: "uncaught throw", main: "waits" },
	{ way: "uncaught throw", main: "listens for the error" },
	{ way: "a signal", main: "exits" },
	{ way: "a signal", main: "terminates it" },
	{ way: "a signal", main: "waits", signal: "SIGTERM" },
	{ way: "a signal", main: "waits", signal: "SIGINT" },
];

/** Ends `times` such processes. */
export async function aloneExits({ times, seed, log }) {
	let slowest = 0;
	await inTurn([...Array(times).keys()], 2, async (index) => {
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
		const env = { KNOWLEDGEPULSE_SCORING_BACKEND: draw.of(BACKENDS) };
		try {
			const [without, ended] = await Promise.all([
				endOf("exitingInWorker", { input: { ...input, addon: false } }),
				endOf("exitingInWorker", { input: { ...input, addon: true }, env }),
			]);
			assertSameEnd(ended, without);
			slowest = Math.max(slowest, ended.took);
		} catch (error) {
			const what = JSON.stringify({ input, env });
			throw finding(error, `--seed ${seed}, a worker alone: ${what}`);
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
