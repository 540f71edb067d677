/** Runs kp-score. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../bin/kp-score.js", import.meta.url));

export const folder = mkdtempSync(join(tmpdir(), "kp-score-test-"));
after(() => {
	shared?.kill();
	rmSync(folder, { recursive: true, force: true });
});

/** Writes a file of the test, with its folder, and returns its path. */
export function file(name, content) {
	const path = join(folder, name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, content);
	return path;
}

/** The options for scores without the model. */
export const OFF = ["--embedder", "off"];

/** The default environment of commands. */
export const environment = { ...process.env };
delete environment.FORCE_COLOR;

/** Starts a command, and returns its process. */
export const start = (args, options = {}) =>
	spawn(process.execPath, [program, ...args], { cwd: folder, env: environment, ...options });

/** The end of a process: `{ code, signal, stdout, stderr }`. */
export async function endOf(child) {
	const output = [child.stdout, child.stderr].map(text);
	const [code, signal] = await once(child, "close");
	const [stdout, stderr] = await Promise.all(output);
	return { code, signal, stdout, stderr };
}

const many = fileURLToPath(new URL("many.cjs", import.meta.url));
const mark = randomUUID();

/** Runs the commands of {@link kpScore} one after another. */
let shared;
let last = Promise.resolve();

/** The output of a stream up to the mark. */
const textOf = (stream) =>
	new Promise((resolve) => {
		let text = "";
		stream.setEncoding("utf8").on("data", function add(chunk) {
			text += chunk;
			if (!text.endsWith(mark)) return;
			stream.off("data", add);
			resolve(text.slice(0, -mark.length));
		});
	});

async function runShared(args) {
	const stdio = ["ignore", "pipe", "pipe", "ipc"];
	shared ??= spawn(process.execPath, [many, mark], { cwd: folder, env: environment, stdio });
	shared.send(args);
	const ended = [once(shared, "message"), textOf(shared.stdout), textOf(shared.stderr)];
	const [[code], stdout, stderr] = await Promise.all(ended);
	return { code, signal: null, stdout, stderr };
}

/**
 * Runs a command to its end: with options in a separate process, else in one that all commands share, which
 * loads the engine once.
 */
export function kpScore(args, options) {
	if (!options) {
		last = last.then(() => runShared(args));
		return last;
	}
	const { input, ...others } = options;
	const child = start(args, others);
	child.stdin.on("error", () => {}).end(input);
	return endOf(child);
}

/** As {@link kpScore}, for a command that must end with this exit code. */
export async function assertEnds(expected, args, options) {
	const { code, ...output } = await kpScore(args, options);
	assert.equal(code, expected, output.stderr);
	return output;
}

/** The rows that a command writes, which must succeed. */
export const rowsOf = async (args, options) => parsed((await assertEnds(0, args, options)).stdout);

/** The ids of these rows. */
export const idsOf = async (args, options) => (await rowsOf(args, options)).map(({ id }) => id);

/** Runs a line of bash, in which `kp-score` is the command. */
export const shell = (line) =>
	endOf(
		spawn("bash", ["-c", `kp-score() { '${process.execPath}' '${program}' "$@"; }; ${line}`], {
			cwd: folder,
			env: environment,
		}),
	);

export const traceOf = (n, changes = {}) => ({
	id: `t:${n}`,
	metadata: {
		task_domain: "code",
		success: true,
		created_at: `2026-01-01T00:00:${String(n % 60).padStart(2, "0")}.000Z`,
		...changes.metadata,
	},
	task: { objective: changes.objective ?? `Fix test number ${n}` },
	steps: [
		{ type: "thought", content: `A race in ${n}?` },
		{ type: "tool_call", tool: { name: "editor" }, content: "" },
	],
	outcome: { confidence: changes.confidence ?? 0.9, result_summary: "" },
});

export const linesOf = (traces) => traces.map((trace) => `${JSON.stringify(trace)}\n`).join("");

export const parsed = (text) =>
	text
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line));

/** The environment of a terminal with colours, because Node.js assumes none in CI. */
const COLOURS = { TERM: "xterm-256color", CI: undefined, NO_COLOR: undefined };

const python = ["python3", "python"].find(
	(name) => spawnSync(name, ["-c", "import pty"], { stdio: "ignore" }).status === 0,
);
export const skipWithoutTerminal = !python && "no Python with pseudo-terminals";

/** Runs its arguments in a terminal of 100 columns, and copies the output. */
const TERMINAL = `
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
try:
    while shown := os.read(terminal, 4096):
        sys.stdout.buffer.write(shown)
except OSError:
    pass  # The program has ended.
`;

/** Returns the output of a command, or another program, on a terminal. */
export async function onTerminal(args, env = {}, script = program) {
	const command = ["-c", TERMINAL, process.execPath, script, ...args];
	const child = spawn(python, command, {
		cwd: folder,
		env: { ...environment, ...COLOURS, ...env },
	});
	const { stdout } = await endOf(child);
	return stdout;
}

/** Returns the output of a command on a terminal without colours. */
export async function runOnTerminal(commands) {
	const path = file(`commands-${randomUUID()}.json`, JSON.stringify(commands));
	const shown = await onTerminal([mark, path], { NO_COLOR: "1" }, many);
	// Both streams end with the mark.
	return shown.split(mark).filter((_, index) => index % 2 === 0);
}
