/** The top folder, and running other programs. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The top folder of the checkout. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Returns the files in a folder, and in the folders in it, whose name has this ending. */
export const filesBelow = (folder, ending) =>
	readdirSync(join(root, folder), { recursive: true })
		.filter((file) => file.endsWith(ending) && !file.includes("node_modules"))
		.map((file) => join(folder, file))
		.sort();

/** Ends the process with one line on standard error. */
export function fail(message) {
	console.error(`error: ${message}`);
	process.exit(1);
}

/** Runs a program in the top folder; returns its exit code or signal, and what it printed. */
export function attempt(command, args, options = {}) {
	const { error, status, signal, stdout, stderr } = spawnSync(command, args, {
		cwd: root,
		encoding: "utf8",
		maxBuffer: 1 << 28,
		...options,
	});
	if (error) throw error;
	const output = `${stdout ?? ""}${stderr ?? ""}`;
	return { code: status ?? signal, stdout, output };
}

/**
 * Runs a program in the top folder with its output on the screen; ends this process if it fails.
 * Returns piped output.
 */
export function run(command, args, options = {}) {
	try {
		const { code, stdout } = attempt(command, args, { stdio: "inherit", ...options });
		if (code === 0) return stdout;
		fail(`${command} ${args[0] ?? ""} failed (${code})`);
	} catch (error) {
		fail(`${command}: ${error.message}`);
	}
}

/** Returns the output of a program; undefined if it fails or is missing. */
export function capture(command, args) {
	try {
		const { code, output } = attempt(command, args);
		return code === 0 ? output : undefined;
	} catch {
		return undefined;
	}
}

/** npm and npx are scripts on Windows, which only a shell can start. */
export const SHELL = { shell: process.platform === "win32" };

/** As {@link run}, for npm. */
export const npm = (args, options) => run("npm", args, { ...SHELL, ...options });

/** As {@link run}, for a program of an installed npm package. */
export const npx = (args, options) => run("npx", args, { ...SHELL, ...options });
