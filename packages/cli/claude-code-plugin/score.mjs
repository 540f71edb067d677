/**
 * The SessionEnd hook of Claude Code: scores the transcript in a separate process, which appends a row. A session that
 * is resumed and ends again gets another row, and is not compared with itself. The hook itself ends immediately and
 * without an error, so that it neither delays nor fails a session.
 */
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, openSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const [own, program] = ["score.mjs", "../bin/kp-score.js"].map((path) =>
	fileURLToPath(new URL(path, import.meta.url)),
);

/** Scores a transcript with the command line of this package, and logs why it cannot. */
function score(transcript) {
	const folder = join(homedir(), ".kp-score");
	mkdirSync(folder, { recursive: true });
	const flags = "--from claude-code --assume-success true --again --json --quiet --memory".split(
		" ",
	);
	const args = [program, "score", transcript, ...flags, join(folder, "memory.kpcache")];
	const stdio = ["ignore", openSync(join(folder, "rows.jsonl"), "a"), "pipe"];
	// Not in the folder of the session.
	const options = { cwd: folder, stdio, windowsHide: true };
	const { status, stderr } = spawnSync(process.execPath, args, options);
	if (status !== 0) appendFileSync(join(folder, "errors.log"), stderr);
}

const [transcript] = process.argv.slice(2);
if (transcript !== undefined) score(transcript);
else
	try {
		const { transcript_path: path } = JSON.parse(await text(process.stdin));
		const options = { detached: true, stdio: "ignore", windowsHide: true };
		const started = typeof path === "string" && spawn(process.execPath, [own, path], options);
		if (started) started.on("error", () => {}).unref();
	} catch {
		// There is nothing to score.
	}
