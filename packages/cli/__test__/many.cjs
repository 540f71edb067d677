/**
 * Runs command lines one after another in this process, and marks the end of each: those of messages, each of
 * which is answered by an exit code, or those in a file.
 */
const { readFileSync } = require("node:fs");
const { main } = require("../lib/main.js");

const [mark, path] = process.argv.slice(2);

async function run(args) {
	process.argv = [process.execPath, "kp-score", ...args];
	process.exitCode = undefined;
	await main(process.argv);
	const code = process.exitCode ?? 0;
	process.exitCode = 0;
	// As if it was the first in its process.
	for (const name of ["SIGINT", "SIGTERM"]) process.removeAllListeners(name);
	for (const stream of [process.stdout, process.stderr]) {
		stream.removeAllListeners("error");
		await new Promise((resolve) => stream.write(mark, resolve));
	}
	return code;
}

process.on("message", async (args) => process.send(await run(args)));

(async () => {
	if (path) for (const args of JSON.parse(readFileSync(path, "utf8"))) await run(args);
})();
