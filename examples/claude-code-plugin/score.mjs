/**
 * The SessionEnd hook of Claude Code: scores the transcript in a separate process, which appends a row. The
 * hook itself ends immediately and without an error, so that it neither delays nor fails a session.
 */
import { spawn } from "node:child_process";
import { mkdirSync, openSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

function ignore() {}

try {
	const { transcript_path: transcript } = JSON.parse(await text(process.stdin));
	const folder = join(homedir(), ".kp-score");
	mkdirSync(folder, { recursive: true });
	const [rows, errors] = ["rows.jsonl", "errors.log"].map((name) =>
		openSync(join(folder, name), "a"),
	);
	const memory = join(folder, "memory.kpcache");
	const options = [
		"--from",
		"claude-code",
		"--assume-success",
		"true",
		"--memory",
		memory,
		"--json",
		"--quiet",
	];
	const command = ["--yes", "@knowledgepulse/scoring-cli", "score", transcript, ...options];
	const stdio = ["ignore", rows, errors];
	spawn("npx", command, { detached: true, stdio, shell: process.platform === "win32" })
		.on("error", ignore)
		.unref();
} catch {
	// There is nothing to score.
}
