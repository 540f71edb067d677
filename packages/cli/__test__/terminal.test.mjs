import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { endOf, file, folder, linesOf, program, traceOf } from "./support.mjs";

/** A terminal with colours, which Node.js does not expect of CI. */
const PLAIN = {
	TERM: "xterm-256color",
	...{ CI: undefined, FORCE_COLOR: undefined, NO_COLOR: undefined },
};

const BOLD = "\u001b[1m";

const python = ["python3", "python"].find(
	(name) => spawnSync(name, ["-c", "import pty"], { stdio: "ignore" }).status === 0,
);
const skip = !python && "no Python with pseudo-terminals";

/** Runs its arguments in a terminal of 100 columns, and copies what that shows. */
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

/** What a command shows on a terminal. */
async function onTerminal(args, env = {}) {
	const command = ["-c", TERMINAL, process.execPath, program, ...args];
	const child = spawn(python, command, {
		cwd: folder,
		env: { ...process.env, ...PLAIN, ...env },
	});
	const { stdout } = await endOf(child);
	return stdout;
}

file(
	"runs.jsonl",
	linesOf([traceOf(1), traceOf(2, { confidence: 0.1, objective: "Erase\u001b[2J the screen" })]),
);
const SCORE = ["score", "runs.jsonl", "--embedder", "off", "--threshold", "0.5"];

test("kp-score shows a table on a terminal", { skip }, async () => {
	const shown = await onTerminal(SCORE);
	assert.ok(shown.includes(BOLD));
	// What a log contains is no command for the terminal.
	assert.ok(!shown.includes("\u001b[2J"));
	const lines = stripVTControlCharacters(shown).split(/\r?\n/);
	assert.match(lines[0], /^ {2}score {2}compl {2}novel/);
	assert.match(lines[1], /^✓ 0\.\d{3} .* t:1 +Fix test number 1$/);
	assert.match(lines[2], /^· 0\.\d{3} .* t:2 +Erase/);
	assert.match(shown, /1 of 2 \(50\.0 %\) score 0\.5 or more/);
});

test("kp-score honours NO_COLOR and --json on a terminal", {
	skip,
}, async () => {
	const shown = await onTerminal(SCORE, { NO_COLOR: "1" });
	assert.ok(!shown.includes(BOLD));
	const json = await onTerminal([...SCORE, "--json", "--no-progress", "-q"]);
	const rows = json
		.trim()
		.split(/\r?\n/)
		.map((line) => JSON.parse(line));
	assert.deepEqual(
		rows.map(({ id }) => id),
		["t:1", "t:2"],
	);
});

test("kp-score shows progress and the time left on a terminal", {
	skip,
}, async () => {
	// Progress is shown anew every 200 ms: no machine imports so many in that time.
	const many = Array.from({ length: 300_000 }, (_, n) => traceOf(n));
	file("progress.jsonl", linesOf(many));
	const shown = await onTerminal([...["import", "progress.jsonl", "--output", "copy.jsonl"]]);
	assert.match(shown, /\d+ % {2}[\d,]+ traces {2}[\d,]+\/s {2}.* left/);
	assert.match(
		stripVTControlCharacters(shown),
		/300,000 traces in 1 source, written to copy\.jsonl/,
	);
});
