/** Processes that have run out of something by the time that they score. */
import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { valueIn } from "../lib/child.mjs";
import { environment, rightScores } from "./configurations.mjs";
import { asNobody } from "./limits.mjs";
import { judge, probe, probeQuietly, TRACES, tally } from "./probe.mjs";

const FILE = "faults/exhausted.mjs";

/** Scores with `free` descriptors left, and then with enough of them. */
export async function scoreWithFree(scoring, free) {
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
	for (const file of held.splice(0, free)) closeSync(file);
	const exhausted = await probeQuietly(scoring, TRACES);
	for (const file of held) closeSync(file);
	scoring.configure({});
	await scoring.clear();
	return { exhausted, after: await probe(scoring, TRACES) };
}

/** No file descriptor is left when the model is loaded, or a few. */
export async function noDescriptors(configuration, most, log) {
	const right = await rightScores(configuration);
	const outcomes = tally();
	for (let free = 0; free <= most; free++) {
		const { exhausted, after } = await valueIn(FILE, "scoreWithFree", {
			input: free,
			env: environment(configuration),
			under: ["prlimit", "--nofile=96"],
		});
		outcomes.add(judge(exhausted, right));
		const later = judge(after, right);
		if (later !== "right") throw new Error(`${free} descriptors free, then all: ${later}`);
	}
	log(`descriptors exhausted, ${configuration.name}: ${outcomes}`);
	return {
		what: `file descriptors used up, 0 to ${most} left, ${configuration.name}`,
		tried: `${outcomes.total} processes`,
		found: `${outcomes}; right again with more`,
	};
}

/** Keeps a process from starting threads, as the user that `become` makes this one. */
function limit(become, pid) {
	const [command, ...args] = [...become, "prlimit", `--pid=${pid}`, "--nproc=1"];
	const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
	if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

/** Scores one trace; when the system gives no more threads, all at once. */
export async function scoreWithoutMore(scoring, _, send) {
	await probe(scoring, TRACES.slice(0, 1));
	await scoring.clear();
	send("loaded");
	const isLimited = () => /^Max processes +1 /m.test(readFileSync("/proc/self/limits", "utf8"));
	while (!isLimited()) await sleep(5);
	return probe(scoring, TRACES.slice(1).concat(TRACES[0]));
}

/** The system gives no more threads once the model is loaded. */
export async function noMoreThreads(configuration, log) {
	const what = `no more threads once the model is loaded, ${configuration.name}`;
	const under = asNobody();
	if (!under) return { what, tried: "not available here", found: "takes another user" };
	const { table, without } = await rightScores(configuration);
	const found = await valueIn(FILE, "scoreWithoutMore", {
		under,
		env: environment(configuration),
		onValue: (value, { pid }) => {
			if (value === "loaded") limit(under, pid);
		},
	});
	const turn = (list) => [...list.slice(1), list[0]];
	const outcome = judge(found, {
		table: turn(table.map((row) => ({ ...row, behind: turn(row.behind) }))),
		without: turn(without),
	});
	if (outcome !== "right") throw new Error(`${what}: ${outcome}`);
	log(`${what}: ${outcome}`);
	return { what, tried: `${TRACES.length} texts side by side`, found: outcome };
}
