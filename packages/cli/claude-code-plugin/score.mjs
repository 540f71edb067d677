/**
 * The SessionEnd hook of Claude Code: scores the transcript in a separate process, which appends a row. A session that
 * is resumed and ends again gets another row, and is not compared with itself. The hook itself ends immediately and
 * without an error, so that it neither delays nor fails a session.
 */
import { spawn } from "node:child_process";
import { mkdirSync, openSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";

function ignore() {}

/** The command npx without a shell, to which paths could mean something. On Windows it is a script beside Node.js. */
const npx =
	process.platform === "win32"
		? [process.execPath, join(dirname(process.execPath), "node_modules/npm/bin/npx-cli.js")]
		: ["npx"];

try {
	const { transcript_path: transcript } = JSON.parse(await text(process.stdin));
	const folder = join(homedir(), ".kp-score");
	mkdirSync(folder, { recursive: true });
	const [rows, errors] = ["rows.jsonl", "errors.log"].map((name) =>
		openSync(join(folder, name), "a"),
	);
	const memory = join(folder, "memory.kpcache");
	const flags = "--from claude-code --assume-success true --again --json --quiet".split(" ");
	const command = ["--yes", "@knowledgepulse/scoring-cli", "score", transcript];
	const [program, ...args] = [...npx, ...command, ...flags, "--memory", memory];
	const stdio = ["ignore", rows, errors];
	// Not in the folder of the session, whose packages and settings npx would use.
	spawn(program, args, { cwd: folder, detached: true, stdio, windowsHide: true })
		.on("error", ignore)
		.unref();
} catch {
	// There is nothing to score.
}
