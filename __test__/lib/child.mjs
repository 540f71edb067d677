/**
 * Runs pieces of a test in fresh processes: a process has one embedder, one warning and one exit.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";

const testFolder = fileURLToPath(new URL("..", import.meta.url));

/** A child that hangs is a failure; this is far beyond what the slowest one needs. */
const KILL_AFTER_MS = 120_000;

/**
 * Values go through descriptors 0 and 3, so that stdout and stderr stay what the code under test
 * makes them. The working folder is `__test__`: imports of `body` are relative to that.
 */
function program(body, preload) {
	return `
import { readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
${preload ? 'import * as scoring from "../index.mjs";' : "const scoring = undefined;"}
const input = deserialize(readFileSync(0));
const send = (value) => writeFileSync(3, serialize(value).toString("base64") + "\\n");
const result = await (${body})({ scoring, input, send });
if (result !== undefined) send(result);
`;
}

/** The environment of this process without what would change how the child scores. */
function environment(changes) {
	const env = { ...process.env };
	for (const name of Object.keys(env)) {
		if (
			/^(KNOWLEDGEPULSE_|NODE_OPTIONS$|NODE_TEST_CONTEXT$|NODE_V8_COVERAGE$)/.test(
				name,
			)
		) {
			delete env[name];
		}
	}
	return { ...env, ...changes };
}

/**
 * Runs `body({ scoring, input, send })` in a new process.
 *
 * @param body A function that uses nothing from around it. What it sends, and then what it returns,
 * comes back in `values`; the last of them is `value`.
 * @param options `preload: false` leaves out the import of the addon; `onValue(value, child)` is
 * called as values come in; `under` is a command that is to start the process.
 */
export async function run(body, options = {}) {
	const {
		input,
		env,
		execArgv = [],
		under = [],
		preload = true,
		killAfterMs,
		onValue,
	} = options;
	const [command, ...args] = [
		...[...under, process.execPath, ...execArgv],
		...["--input-type=module", "-e", program(body, preload)],
	];
	const child = spawn(command, args, {
		cwd: testFolder,
		env: environment(env),
		stdio: ["pipe", "pipe", "pipe", "pipe"],
	});
	const values = [];
	const lines = splitter((line) => {
		values.push(deserialize(Buffer.from(line, "base64")));
		onValue?.(values.at(-1), child);
	});
	const output = ["", ""];
	child.stdout.setEncoding("utf8").on("data", (text) => {
		output[0] += text;
	});
	child.stderr.setEncoding("utf8").on("data", (text) => {
		output[1] += text;
	});
	child.stdio[3].setEncoding("latin1").on("data", lines);
	// A child may well end without having read its input.
	child.stdin.on("error", () => {});
	child.stdin.end(serialize(input));
	const timer = setTimeout(
		() => child.kill("SIGKILL"),
		killAfterMs ?? KILL_AFTER_MS,
	);
	const [code, signal] = await new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (...ending) => resolve(ending));
	});
	clearTimeout(timer);
	return {
		code,
		signal,
		values,
		value: values.at(-1),
		stdout: output[0],
		stderr: output[1],
	};
}

/** As {@link run}, for a child that has to end well and print nothing: gives its last value. */
export async function valueFrom(body, options) {
	const ended = await run(body, options);
	assertQuiet(ended);
	return ended.value;
}

/** As {@link valueFrom}, for a child without an embedder: it prints just the one warning. */
export async function valueWithoutEmbedder(body, options = {}) {
	const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off", ...options.env };
	const ended = await run(body, { ...options, env });
	assertEndedWell(ended);
	assert.match(
		ended.stderr,
		/^\(node:\d+\) \[KNOWLEDGEPULSE_NO_EMBEDDER\] .*\n.*\n$/,
	);
	return ended.value;
}

/** Fails unless a child returned normally. */
export function assertEndedWell({ code, signal, stderr }) {
	assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr);
}

/** Fails unless a child returned normally and printed nothing. */
export function assertQuiet(ended) {
	assertEndedWell(ended);
	assert.deepEqual([ended.stdout, ended.stderr], ["", ""]);
}

function splitter(onLine) {
	let rest = "";
	return (text) => {
		const lines = (rest + text).split("\n");
		rest = lines.pop();
		lines.forEach(onLine);
	};
}
