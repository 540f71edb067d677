/** The cores that a process may use. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * The command that runs another one on the first core that this process may use; `undefined` where
 * there is none.
 */
export function onOneCore() {
	if (process.platform !== "linux") return undefined;
	const status = readFileSync("/proc/self/status", "utf8");
	const core = /^Cpus_allowed_list:\s*(\d+)/m.exec(status)?.[1];
	const command = ["taskset", "-c", core];
	const tried = spawnSync(command[0], [...command.slice(1), "true"]);
	return tried.status === 0 ? command : undefined;
}
