/** Two copies of the package in one process, and fifty contexts that load it at once. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { valueFrom } from "../../__test__/lib/child.mjs";
import { says, words } from "../../__test__/lib/traces.mjs";
import { draws } from "../lib/draw.mjs";
import { finding } from "../lib/finding.mjs";
import { inLanes } from "../lib/lanes.mjs";
import { copyOfThePackage } from "./copy.mjs";
import { assertSameEnd, endOf } from "./ends.mjs";

/** Scores with both copies at once, and ends. */
async function bothScore({ scoring, input, send }) {
	const other = await import(input.other);
	const copies = input.turned ? [other, scoring] : [scoring, other];
	const calls = copies.map(({ evaluateValues }) =>
		evaluateValues(input.traces),
	);
	if (input.way === "return") return Promise.all(calls);
	await new Promise((resolve) => setTimeout(resolve, input.delay));
	send("exit");
	if (input.way === "exit") process.exit(input.code);
	throw new Error("thrown on purpose");
}

export async function twoCopies({ times, seed, log }) {
	const copy = copyOfThePackage();
	let slowest = 0;
	try {
		const other = pathToFileURL(join(copy, "index.mjs")).href;
		await inLanes(times, async (index) => {
			const draw = draws(seed + index);
			const traces = Array.from({ length: 6 }, (_, text) =>
				says(words(text % 2 ? 300 : 5, seed + 10 * index + text)),
			);
			const way = ["return", "exit", "throw"][index % 3];
			const [turned, code, delay] = [
				draw.below(2),
				draw.below(100),
				draw.below(300),
			];
			const input = { other, traces, way, turned, code, delay };
			if (way === "return") {
				const [here, there] = await valueFrom(bothScore, { input });
				assert.deepEqual(there, here, `copies differ, seed ${seed + index}`);
				return;
			}
			const ended = await endOf(input, { body: bothScore, preload: true });
			assertSameEnd(
				{ ...ended, stderr: "" },
				{
					...{ code: way === "exit" ? code : 1, signal: null },
					...{ stdout: "", stderr: "", took: 0 },
				},
			);
			slowest = Math.max(slowest, ended.took);
		});
	} finally {
		rmSync(copy, { recursive: true });
	}
	const found = `same scores, exit codes as without, slowest end ${slowest.toFixed()} ms`;
	log(`two copies in a process: ${times}, ${found}`);
	return [
		{
			what: "two copies of the package in one process",
			tried: `${times}`,
			found,
		},
	];
}

async function fiftyContexts({ scoring, input, send }) {
	const { fifty } = await import("../trust/lifecycle/fifty.mjs");
	return fifty[input.what](scoring, input, send);
}

/** Fifty workers that have nothing of ours, one of which lets the process exit. */
async function fiftyIdle({ send }) {
	const { once } = await import("node:events");
	const { Worker } = await import("node:worker_threads");
	const code =
		'require("worker_threads").parentPort.on("message", () => {}).postMessage("up")';
	const workers = Array.from(
		{ length: 50 },
		() => new Worker(code, { eval: true, execArgv: [] }),
	);
	await Promise.race(workers.map((worker) => once(worker, "message")));
	send("exit");
	process.exit(7);
}

/** What fifty contexts that load at once do, and how each is run. */
const FIFTY = {
	score: "they score as one does",
	terminate: "they are terminated",
	exit: "the process exits",
	vm: "with modules of their own, in contexts of vm: they score as one does",
};

export async function fiftyAtOnce({ times, seed, log }) {
	const rows = [];
	for (const [what, name] of Object.entries(FIFTY)) {
		let slowest = 0;
		for (let index = 0; index < times; index++) {
			const draw = draws(seed + index);
			const moment = draw.of(["imported", "called", "scored"]);
			const delay = draw.below(100);
			const input = { what, moment, delay, seed: draw.below(2 ** 30) };
			try {
				if (what === "exit") {
					const without = await endOf(input, { body: fiftyIdle });
					const ended = await endOf(input, { body: fiftyContexts });
					assertSameEnd(ended, without);
					slowest = Math.max(slowest, ended.took);
				} else await valueFrom(fiftyContexts, { input });
			} catch (error) {
				throw finding(error, `fifty contexts: ${JSON.stringify(input)}`);
			}
		}
		const end = slowest ? `, slowest end ${slowest.toFixed()} ms` : "";
		rows.push({
			what: `50 contexts load at once: ${name}`,
			tried: `${times} times`,
			found: `no difference${end}`,
		});
		log(`50 contexts at once, ${what}: ${times}${end}`);
	}
	return rows;
}
