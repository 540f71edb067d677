/**
 * Long steps, which may run concurrently. Each prints one line with its time when done; output of
 * its programs goes to a log file, which an error names.
 */
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { execute, tail } from "./process.mjs";
import { fail, root } from "./run.mjs";

const LOGS = join(root, "target", "logs");
const LONGEST_S = 5400;

/** How often a line shows what is running. */
const EVERY_MS = 30_000;

/** The start time and progress of each step, by name. */
const running = new Map();
let timer;

const seconds = (began) => `${((performance.now() - began) / 1000).toFixed(0)} s`;

function show() {
	const steps = [...running].map(([name, { began, at }]) =>
		[name, seconds(began), at].filter(Boolean).join(" "),
	);
	console.log(`...     ${steps.join(", ")}`);
}

/** Runs `work` as a step, and returns what it returns. `work` gets a function that tells how far it is. */
export async function step(name, work) {
	const state = { began: performance.now(), at: "" };
	running.set(name, state);
	timer ??= setInterval(show, EVERY_MS);
	try {
		const result = await work((at) => {
			state.at = at;
		});
		const at = state.at ? `: ${state.at}` : "";
		console.log(`${seconds(state.began).padStart(6)}  ${name}${at}`);
		return result;
	} finally {
		running.delete(name);
		if (running.size === 0) {
			clearInterval(timer);
			timer = undefined;
		}
	}
}

/**
 * Runs a program in the top folder for the step `name`, with its output in a log; ends this process
 * if it fails. Returns what it printed.
 */
export async function logged(name, command, options) {
	const file = join(LOGS, `${name.replaceAll(/\W+/g, "-")}.log`);
	mkdirSync(LOGS, { recursive: true });
	const log = openSync(file, "w");
	const { problem } = await execute(command, {
		cwd: root,
		seconds: LONGEST_S,
		...options,
		stdio: ["ignore", log, log],
	});
	closeSync(log);
	const printed = readFileSync(file, "utf8");
	if (!problem) return printed;
	// Programs that report in JSON for us say what is wrong in plain lines.
	console.log(tail(printed.replaceAll(/^\{.*\n/gm, ""), 60));
	fail(`${name}: ${command[0]} ${problem}; its output is in ${relative(root, file)}`);
}
