/** Processes that have run out of something by the time that they score. */
import { spawnSync } from "node:child_process";
import { assertQuiet, run } from "../../__test__/lib/child.mjs";
import { environment, rightScores } from "./configurations.mjs";
import { asNobody } from "./limits.mjs";
import { judge, TRACES, tally } from "./probe.mjs";

/** Scores with `free` descriptors left, and then with all that it takes. */
async function scoreWithFree({ scoring, input }) {
	const { closeSync, openSync } = await import("node:fs");
	const { probe } = await import("../trust/faults/probe.mjs");
	process.emitWarning = () => {};
	const held = [];
	let isFull = false;
	while (!isFull) {
		try {
			held.push(openSync("/dev/null"));
		} catch (error) {
			if (error.code !== "EMFILE") throw error;
			isFull = true;
		}
	}
	for (const file of held.splice(0, input.free)) closeSync(file);
	const exhausted = await probe(scoring, input.traces);
	for (const file of held) closeSync(file);
	scoring.configure({});
	scoring.clear();
	return { exhausted, after: await probe(scoring, input.traces) };
}

/** No file descriptor is left when the model is loaded, or a few. */
export async function noDescriptors(configuration, most, log) {
	const right = await rightScores(configuration);
	const outcomes = tally();
	for (let free = 0; free <= most; free++) {
		const ended = await run(scoreWithFree, {
			input: { free, traces: TRACES },
			env: environment(configuration),
			under: ["prlimit", "--nofile=96"],
		});
		assertQuiet(ended);
		const { exhausted, after } = ended.value;
		outcomes.add(judge(exhausted, right));
		const later = judge(after, right);
		if (later !== "right")
			throw new Error(`${free} descriptors free, then all: ${later}`);
	}
	log(`descriptors exhausted, ${configuration.name}: ${outcomes}`);
	return {
		what: `file descriptors used up, 0 to ${most} left, ${configuration.name}`,
		tried: `${outcomes.total} processes`,
		found: `${outcomes}; right again with more`,
	};
}

/** Takes further threads from a process of the user that `become` makes one. */
function limit(become, pid) {
	const [command, ...args] = [
		...become,
		"prlimit",
		`--pid=${pid}`,
		"--nproc=1",
	];
	const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
	if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

/** Scores alone; and when the system gives no more threads, side by side. */
async function scoreWithoutMore({ scoring, input, send }) {
	const { readFileSync } = await import("node:fs");
	const { setTimeout: sleep } = await import("node:timers/promises");
	const { probe } = await import("../trust/faults/probe.mjs");
	await probe(scoring, input.slice(0, 1));
	scoring.clear();
	send("loaded");
	const isLimited = () =>
		/^Max processes +1 /m.test(readFileSync("/proc/self/limits", "utf8"));
	while (!isLimited()) await sleep(5);
	return probe(scoring, input.slice(1).concat(input[0]));
}

/** The system gives no more threads once the model is loaded. */
export async function noMoreThreads(configuration, log) {
	const what = `no more threads once the model is loaded, ${configuration.name}`;
	const under = asNobody();
	if (!under)
		return { what, tried: "not available here", found: "takes another user" };
	const { table, without } = await rightScores(configuration);
	const ended = await run(scoreWithoutMore, {
		input: TRACES,
		under,
		env: environment(configuration),
		onValue: (value, { pid }) => {
			if (value === "loaded") limit(under, pid);
		},
	});
	assertQuiet(ended);
	const turn = (list) => [...list.slice(1), list[0]];
	const outcome = judge(ended.value, {
		table: turn(table.map((row) => ({ ...row, behind: turn(row.behind) }))),
		without: turn(without),
	});
	if (outcome !== "right") throw new Error(`${what}: ${outcome}`);
	log(`${what}: ${outcome}`);
	return { what, tried: `${TRACES.length} texts side by side`, found: outcome };
}
