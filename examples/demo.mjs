/** Scores a dozen traces and a session of an agent, explains scores, and chooses a threshold, with the command line. */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL("..", import.meta.url));
mkdirSync(join(cwd, "dist"), { recursive: true });

for (const command of [
	"score examples/traces.jsonl",
	"explain examples/traces.jsonl --id kp:trace:demo-seat-change",
	"explain examples/session.jsonl",
	"calibrate examples/traces.jsonl --target-share 0.3 --html dist/report.html",
]) {
	console.log(`\n$ kp-score ${command}`);
	const program = ["packages/cli/bin/kp-score.js", ...command.split(" "), "--table"];
	const { status } = spawnSync(process.execPath, program, { cwd, stdio: "inherit" });
	if (status !== 0) process.exit(1);
}
