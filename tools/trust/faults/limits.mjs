/** Processes that get too few descriptors, threads or bytes. */
import { spawnSync } from "node:child_process";
import { memoryGroup } from "../../../__test__/support/memory-group.mjs";
import { callIn } from "../lib/child.mjs";
import { finding } from "../lib/finding.mjs";
import { environment, rightScores } from "./configurations.mjs";
import { judge, TRACES, tally } from "./probe.mjs";

const MIB = 2 ** 20;
const KILL_AFTER_MS = 60_000;

const works = (under) => {
	const [command, ...args] = [...under, process.execPath, "-e", "0"];
	return spawnSync(command, args).status === 0;
};

/** What makes a command run as a user without processes, if this one may become another. */
export function asNobody() {
	const id = 61_000 + (process.pid % 1000);
	const become = ["setpriv", `--reuid=${id}`, `--regid=${id}`, "--clear-groups"];
	return process.getuid?.() === 0 && works(become) ? become : undefined;
}

const isOfNode = (stderr) =>
	/FATAL ERROR: .*(out of memory|OOM)|pthread_create: Resource|node::.*Assertion/s.test(stderr);

/** The outcome of scoring with `under` before the command; throws if a process dies of the addon. */
async function outcome(configuration, under, isKillFair = false) {
	const options = { under, killAfterMs: KILL_AFTER_MS };
	const env = environment(configuration);
	const ended = await callIn("faults/probe.mjs", "probeQuietly", {
		...{ ...options, env, input: TRACES },
	});
	const { code, signal, stderr, value } = ended;
	if (code === 0) {
		if (stderr !== "") throw new Error(`printed ${stderr}`);
		return judge(value, await rightScores(configuration));
	}
	const fair = isKillFair && signal === "SIGKILL";
	if (fair) return "killed by the system";
	const without = await callIn("faults/probe.mjs", "withoutAddon", {
		...{ ...options, preload: false },
	});
	if (without.code !== 0 || isOfNode(stderr)) return "ended by Node.js itself";
	throw new Error(`died with ${signal ?? code}: ${stderr}`);
}

/** A row of outcomes with a limit at each of `values`, none of which may be `never`. */
async function step({ what, unit, values, configuration, limited, isKillFair, never, log }) {
	const outcomes = tally();
	for (const value of values) {
		try {
			const found = await outcome(configuration, limited(value), isKillFair);
			if (found === never) throw new Error(`the embedder is ${found}`);
			outcomes.add(found);
		} catch (error) {
			const how = limited(value).join(" ");
			throw finding(error, `${what}, ${configuration.name}, ${how}`);
		}
	}
	log(`${what}, ${configuration.name}: ${outcomes}`);
	return {
		what: `${what}, ${configuration.name}`,
		tried: `${values[0]} to ${values.at(-1)}${unit}, ${values.length} limits`,
		found: `${outcomes}`,
	};
}

const range = (from, to, by) =>
	Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, i) => from + i * by);

/** Each process with so many descriptors. */
export const fewDescriptors = (configuration, by, log) =>
	step({
		what: "few file descriptors",
		unit: "",
		values: range(18, 42, by),
		configuration,
		limited: (count) => ["prlimit", `--nofile=${count}`],
		log,
	});

/** Each process with so many threads. */
export const fewThreads = (configuration, by, log) => {
	const become = asNobody();
	const what = "few threads";
	if (!become) return { what, tried: "not available here", found: "takes another user" };
	return step({
		what,
		unit: "",
		values: range(6, 24, by),
		configuration,
		limited: (count) => [...become, "prlimit", `--nproc=${count}`],
		// The threads that there are do the work.
		never: "unavailable",
		log,
	});
};

/** Each process with so much memory of its own. */
export const littleMemory = (configuration, by, log) =>
	step({
		what: "little memory (ulimit -d)",
		unit: " MB",
		values: range(64, 240, by),
		configuration,
		limited: (mib) => ["prlimit", `--data=${mib * MIB}`],
		log,
	});

/** Each process in a group with so much memory: the system kills what wants more. */
export async function littleMemoryInGroup(configuration, by, log) {
	const what = "little memory (control group)";
	const groups = new Map();
	const limited = (mib) => {
		if (!groups.has(mib)) groups.set(mib, memoryGroup(mib * MIB));
		return groups.get(mib)?.under;
	};
	try {
		const values = range(40, 200, by);
		if (!limited(values[0]))
			return {
				what,
				tried: "not available here",
				found: "no group can be made",
			};
		const rest = { unit: " MB", values, configuration, isKillFair: true, log };
		return await step({ what, limited, ...rest });
	} finally {
		for (const group of groups.values()) group?.remove();
	}
}
