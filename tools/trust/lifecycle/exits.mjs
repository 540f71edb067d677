/** Processes that end while scores are in flight, compared with the same ones without the addon. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Scorer } from "@knowledgepulse/scoring";
import { inTurn } from "../../lib/process.mjs";
import { draws } from "../lib/draw.mjs";
import { finding } from "../lib/finding.mjs";
import { assertSameEnd, endOf } from "./ends.mjs";
import { moments, works } from "./exiting.mjs";

const bySignal =
	(signal) =>
	({ of }) => ({ way: of(["a signal", "a signal with a listener"]), signal });

const WAYS = {
	return: () => ({ way: "return" }),
	"process.exit()": () => ({ way: "process.exit" }),
	"uncaught throw": () => ({ way: "uncaught throw" }),
	"unhandled rejection": () => ({ way: "unhandled rejection" }),
	SIGTERM: bySignal("SIGTERM"),
	SIGINT: bySignal("SIGINT"),
};

/** The settings under which the addon runs. */
const ENVIRONMENTS = [
	{},
	{ KNOWLEDGEPULSE_SCORING_PRECISION: "fast" },
	{ KNOWLEDGEPULSE_SCORING_BACKEND: "native" },
];

function drawn(seed, way) {
	const draw = draws(seed);
	const work = draw.of(works);
	const longest = way === "return" || work === "several scorers" ? 8 : 60;
	return {
		input: {
			...WAYS[way](draw),
			work,
			moment: draw.of(moments),
			count: 1 + draw.below(longest),
			delay: draw.below(200),
			code: draw.below(100),
			seed: draw.below(2 ** 30),
		},
		env: draw.of(ENVIRONMENTS),
	};
}

/** Fails unless each snapshot that was being saved is complete or not there at all. */
async function assertComplete(folder) {
	for (const name of readdirSync(folder).filter((name) => /^\d$/.test(name)))
		await Scorer.load(join(folder, name));
}

async function endOnce(way, seed) {
	const { input, env } = drawn(seed, way);
	const folders = [false, true].map(() => mkdtempSync(join(tmpdir(), "kp-exit-")));
	try {
		const [without, ended] = await Promise.all(
			folders.map((folder, at) =>
				endOf("exiting", {
					input: { ...input, folder, addon: at === 1 },
					env: at === 1 ? env : {},
				}),
			),
		);
		assertSameEnd(ended, without);
		if (way === "return") {
			assert.equal(ended.value.settled, ended.value.calls, "promises lost");
			assert.equal(ended.code, input.code);
		}
		await assertComplete(folders[1]);
		return ended.took;
	} catch (error) {
		const what = JSON.stringify({ input, env });
		throw finding(error, `${way}, seed ${seed}: ${what}`);
	} finally {
		for (const folder of folders) rmSync(folder, { recursive: true });
	}
}

/** Ends processes in each way, `times` times each. */
export async function exits({ times, seed, log }) {
	const rows = [];
	for (const [at, way] of Object.keys(WAYS).entries()) {
		let slowest = 0;
		await inTurn([...Array(times).keys()], 2, async (index) => {
			const took = await endOnce(way, seed + at * 100_000 + index);
			slowest = Math.max(slowest, took);
		});
		rows.push({
			what: `a process ends with scores in flight: ${way}`,
			tried: `${times}`,
			found: `as without the addon, slowest end ${slowest.toFixed()} ms`,
		});
		log(`${way}: ${times}, slowest end ${slowest.toFixed()} ms`);
	}
	return rows;
}
