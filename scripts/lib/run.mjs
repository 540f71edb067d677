/** Running other programs, with their output on the screen. */
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The top folder of the checkout. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Ends the process with one line on standard error. */
export function fail(message) {
	console.error(`error: ${message}`);
	process.exit(1);
}

/** Runs a program in the top folder; ends the process when it fails. Returns what is piped. */
export function run(command, args, options = {}) {
	const result = spawnSync(command, args, {
		cwd: root,
		stdio: "inherit",
		encoding: "utf8",
		...options,
	});
	if (result.error) fail(`${command}: ${result.error.message}`);
	if (result.status !== 0)
		fail(
			`${command} ${args[0] ?? ""} failed (${result.signal ?? result.status})`,
		);
	return result.stdout;
}

/** What a program prints, or undefined where it cannot be run. */
export function capture(command, args, options = {}) {
	const { error, status, stdout, stderr } = spawnSync(command, args, {
		cwd: root,
		encoding: "utf8",
		maxBuffer: 1 << 28,
		...options,
	});
	return error || status !== 0 ? undefined : stdout + stderr;
}
