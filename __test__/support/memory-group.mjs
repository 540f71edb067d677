/** Control groups that limit memory, below the group of this process, whose limits stay in effect. */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const V1 = { limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes" };
const V2 = { limit: "memory.max", peak: "memory.peak" };

/** Yields folders in which a group may be made, with the names of its files. */
function* places() {
	const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
	const mounted = mounts.map((line) => line.split(" "));
	for (const line of readFileSync("/proc/self/cgroup", "utf8").split("\n")) {
		const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
		if (controllers === "" || controllers?.split(",").includes("memory")) {
			const [, mount] =
				mounted.find(([, , type, options]) =>
					controllers === ""
						? type === "cgroup2"
						: type === "cgroup" && options.split(",").includes("memory"),
				) ?? [];
			if (mount === undefined) continue;
			const own = join(mount, path);
			yield { parent: own, files: controllers === "" ? V2 : V1 };
			// In version 2, a group with processes passes on no controller.
			if (controllers === "" && path !== "/") yield { parent: dirname(own), files: V2 };
		}
	}
}

/**
 * Makes a group that limits the memory of its processes to `bytes`; `under` is a command that runs another one
 * in the group. Returns `undefined` where no group can be made.
 */
export function memoryGroup(bytes) {
	if (process.platform !== "linux") return undefined;
	for (const { parent, files } of places()) {
		const group = join(parent, `scoring-test-${process.pid}-${bytes}`);
		try {
			mkdirSync(group);
		} catch {
			continue;
		}
		const remove = () => rmdirSync(group);
		try {
			writeFileSync(join(group, files.limit), String(bytes));
		} catch {
			remove();
			continue;
		}
		const move = 'echo $$ > "$0" && exec "$@"';
		return {
			under: ["sh", "-c", move, join(group, "cgroup.procs")],
			peak: () => Number(readFileSync(join(group, files.peak), "utf8")),
			remove,
		};
	}
	return undefined;
}
