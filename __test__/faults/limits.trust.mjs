/** Processes with too few descriptors or threads, or too little memory. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { isLongRun, repeatable } from "../support/draws.mjs";
import {
	asNobody,
	CONFIGURATIONS,
	call,
	environment,
	judge,
	quietly,
	rightScores,
	tally,
	works,
} from "./outcomes.mjs";
import { TRACES } from "./probe.mjs";

const MIB = 2 ** 20;
const KILL_AFTER_MS = 60_000;
const STEPS = isLongRun
	? { leastLeft: 12, descriptors: 1, threads: 1, memory: 2 }
	: { leastLeft: 2, descriptors: 6, threads: 4, memory: 32 };

const nobody = asNobody();

/** Whether Node.js has ended the process, and not the addon. */
const isOfNode = (stderr) =>
	/FATAL ERROR: .*(out of memory|OOM)|pthread_create: Resource|node::.*Assertion/s.test(stderr);

/** The outcome of scoring with `under` before the command; throws if the addon crashes the process. */
async function outcomeUnder(configuration, under) {
	// Without memory, V8's optimising compiler crashes with a std::bad_alloc, which looks like any other.
	const options = { under, killAfterMs: KILL_AFTER_MS, execArgv: ["--no-opt"] };
	const env = environment(configuration);
	const { code, signal, stderr, value } = await call("probeQuietly", { ...options, env });
	if (code === 0) {
		assert.equal(stderr, "");
		return judge(value, await rightScores(configuration));
	}
	const without = await call("withoutAddon", { ...options, preload: false });
	if (without.code !== 0 || isOfNode(stderr)) return "ended by Node.js itself";
	throw new Error(`died with ${signal ?? code}: ${stderr}`);
}

/** Scores under each limit `from`, `from + by`, … up to `to`; no outcome may be `never`. */
async function underLimits(t, configuration, { from, to, by, limited, never }) {
	const outcomes = tally();
	for (let value = from; value <= to; value += by) {
		const under = limited(value);
		await repeatable(under.join(" "), async () => {
			const outcome = await outcomeUnder(configuration, under);
			assert.notEqual(outcome, never);
			outcomes.add(outcome);
		});
	}
	t.diagnostic(`${outcomes}`);
}

/** Keeps a process from starting threads, as the user that it runs as. */
function forbidThreads(pid) {
	const [command, ...args] = [...nobody, "prlimit", `--pid=${pid}`, "--nproc=1"];
	const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
	assert.equal(status, 0, stderr);
}

for (const configuration of CONFIGURATIONS)
	describe(`limits, ${configuration.name}`, { skip: !works(["prlimit"]) && "no prlimit" }, () => {
		const env = environment(configuration);

		test("a process without free descriptors scores as soon as it has some", async (t) => {
			const right = await rightScores(configuration);
			const outcomes = tally();
			for (let free = 0; free <= STEPS.leastLeft; free++) {
				const under = ["prlimit", "--nofile=96"];
				const options = { input: free, env, under };
				const { exhausted, after } = await quietly("scoreWithFree", options);
				outcomes.add(judge(exhausted, right));
				assert.equal(judge(after, right), "right", `${free} descriptors free, then all`);
			}
			t.diagnostic(`${outcomes}`);
		});

		test("a process with few descriptors scores or rejects", (t) => {
			const limited = (count) => ["prlimit", `--nofile=${count}`];
			return underLimits(t, configuration, { from: 18, to: 42, by: STEPS.descriptors, limited });
		});

		const skip = !nobody && "takes another user";
		test("a process with few threads scores with those it has", { skip }, (t) => {
			const limited = (count) => [...nobody, "prlimit", `--nproc=${count}`];
			const range = { from: 6, to: 24, by: STEPS.threads };
			return underLimits(t, configuration, { ...range, limited, never: "unavailable" });
		});

		test("a process that gets no more threads scores as before", { skip }, async () => {
			const { table, without } = await rightScores(configuration);
			const found = await quietly("scoreWithoutMore", {
				under: nobody,
				env,
				onValue: (value, { pid }) => value === "loaded" && forbidThreads(pid),
			});
			const turned = (list) => [...list.slice(1), list[0]];
			const right = {
				table: turned(table.map((row) => ({ ...row, behind: turned(row.behind) }))),
				without: turned(without),
			};
			assert.equal(found.length, TRACES.length);
			assert.equal(judge(found, right), "right");
		});

		test("a process with little memory scores or rejects", (t) => {
			const limited = (mib) => ["prlimit", `--data=${mib * MIB}`];
			return underLimits(t, configuration, { from: 64, to: 240, by: STEPS.memory, limited });
		});
	});
