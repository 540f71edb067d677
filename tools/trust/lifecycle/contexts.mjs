/** Two copies of the package in one process, and fifty contexts that load it at once. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { says, words } from "../../../__test__/support/traces.mjs";
import { inTurn } from "../../lib/process.mjs";
import { valueIn } from "../lib/child.mjs";
import { copyPackage } from "../lib/copies.mjs";
import { draws } from "../lib/draw.mjs";
import { finding } from "../lib/finding.mjs";
import { assertSameEnd, endOf } from "./ends.mjs";

/** How a process ends that has two copies, as {@link endOf} describes it. */
const ENDED = { signal: null, stdout: "", stderr: "", took: 0 };

export async function twoCopies({ times, seed, log }) {
	const { folder, entry } = copyPackage();
	let slowest = 0;
	try {
		await inTurn([...Array(times).keys()], 2, async (index) => {
			const draw = draws(seed + index);
			const traces = Array.from({ length: 6 }, (_, text) =>
				says(words(text % 2 ? 300 : 5, seed + 10 * index + text)),
			);
			const input = {
				...{ other: entry, traces },
				way: ["return", "exit", "throw"][index % 3],
				isOtherFirst: draw.below(2) === 1,
				code: draw.below(100),
				delay: draw.below(300),
			};
			try {
				if (input.way === "return") {
					const [here, there] = await valueIn("lifecycle/copies.mjs", "both", {
						input,
					});
					assert.deepEqual(there, here, "the copies differ");
					return;
				}
				const options = { file: "copies.mjs", input, preload: true };
				const ended = await endOf("both", options);
				const code = input.way === "exit" ? input.code : 1;
				assertSameEnd({ ...ended, stderr: "" }, { ...ENDED, code });
				slowest = Math.max(slowest, ended.took);
			} catch (error) {
				throw finding(error, `--seed ${seed}, two copies, ${input.way}`);
			}
		});
	} finally {
		rmSync(folder, { recursive: true });
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

/** What fifty contexts that load at once do: functions of fifty.mjs. */
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
			const input = { moment, delay, seed: draw.below(2 ** 30) };
			try {
				if (what === "exit") {
					const options = { file: "fifty.mjs", input };
					const without = await endOf("exitIdle", options);
					const ended = await endOf(what, options);
					assertSameEnd(ended, without);
					slowest = Math.max(slowest, ended.took);
				} else await valueIn("lifecycle/fifty.mjs", what, { input });
			} catch (error) {
				const how = JSON.stringify(input);
				throw finding(error, `fifty contexts, ${what}: ${how}`);
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
