/** Where test files run side by side. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { capture } from "../lib/run.mjs";

/**
 * For each lane, what stands before a command in it. There are three for two cores, as some tests wait
 * most of the time. On Linux each has one core, since the threads of a model wait actively for each
 * other: two models on the same cores would take many times as long.
 */
export function lanes() {
	const count = Math.ceil(1.5 * availableParallelism());
	const free = Array.from({ length: count }, () => []);
	if (process.platform !== "linux") return free;
	const status = readFileSync("/proc/self/status", "utf8");
	const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? "";
	const cores = list.split(",").flatMap((range) => {
		const [first, last = first] = range.split("-").map(Number);
		return Array.from({ length: last - first + 1 }, (_, at) => first + at);
	});
	if (capture("taskset", ["-c", String(cores[0]), "true"]) === undefined) return free;
	return free.map((_, lane) => ["taskset", "-c", String(cores[lane % cores.length])]);
}
