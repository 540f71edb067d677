/**
 * Runs parts of a test in fresh processes.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";

const testFolder = fileURLToPath(new URL("..", import.meta.url));

/** A child that takes longer is killed. */
const KILL_AFTER_MS = 120_000;

/**
 * Values go through descriptors 0 and 3; stdout and stderr belong to the code under test. Imports of
 * `body` are relative to the working directory, `__test__`.
 */
function program(body, preload) {
	return `
import { readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
${preload ? 'import * as scoring from "@knowledgepulse/scoring";' : "const scoring = undefined;"}
const input = deserialize(readFileSync(0));
const send = (value) => writeFileSync(3, serialize(value).toString("base64") + "\\n");
const result = await (${body})({ scoring, input, send });
if (result !== undefined) send(result);
`;
}

/** The environment of this process, without settings of scoring and of Node.js. */
function environment(changes) {
	const env = { ...process.env };
	for (const name of Object.keys(env)) {
		if (/^(KNOWLEDGEPULSE_|NODE_OPTIONS$|NODE_TEST_CONTEXT$|NODE_V8_COVERAGE$)/.test(name)) {
			delete env[name];
		}
	}
	return { ...env, ...changes };
}

/**
 * Runs `body({ scoring, input, send })` in a new process.
 *
 * @param body A self-contained function. `values` are those that it sends and returns; `value` is
 * the last.
 * @param options `preload: false` does not import the addon; `onValue(value, child)` is called for
 * each value as it arrives; `under` is a command to start the process with.
 */
export async function run(body, options = {}) {
	const { input, env, execArgv = [], under = [], preload = true, killAfterMs, onValue } = options;
	const [command, ...args] = [
		...under,
		process.execPath,
		...execArgv,
		"--input-type=module",
		"-e",
		program(body, preload),
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
	const output = [child.stdout, child.stderr].map(text);
	child.stdio[3].setEncoding("latin1").on("data", lines);
	// A child may end without reading its input.
	child.stdin.on("error", () => {});
	child.stdin.end(serialize(input));
	const timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs ?? KILL_AFTER_MS);
	const [code, signal] = await once(child, "close");
	clearTimeout(timer);
	const [stdout, stderr] = await Promise.all(output);
	return { code, signal, values, value: values.at(-1), stdout, stderr };
}

/** As {@link run}, for a child that must succeed and print nothing. Returns its last value. */
export async function valueFrom(body, options) {
	const ended = await run(body, options);
	assertQuiet(ended);
	return ended.value;
}

/** As {@link valueFrom}, for a child whose embedder is missing, which prints one warning. */
export async function valueWithoutEmbedder(body, options) {
	const ended = await run(body, options);
	assertEndedWell(ended);
	assert.match(ended.stderr, /^\(node:\d+\) \[KNOWLEDGEPULSE_NO_EMBEDDER\] .*\n.*\n$/);
	return ended.value;
}

/** Fails unless a child succeeded. */
export function assertEndedWell({ code, signal, stderr }) {
	assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr);
}

/** Fails unless a child succeeded and printed nothing. */
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
