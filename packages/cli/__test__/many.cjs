/** Runs the command lines in a file one after another in this process, and marks the end of each. */
const { readFileSync } = require("node:fs");
const { main } = require("../lib/main.js");

const [path, mark] = process.argv.slice(2);

async function run(args) {
	process.argv = [process.execPath, "kp-score", ...args];
	process.exitCode = undefined;
	await main(process.argv);
	// As if it was the first in its process.
	for (const name of ["SIGINT", "SIGTERM"]) process.removeAllListeners(name);
	for (const stream of [process.stdout, process.stderr]) {
		stream.removeAllListeners("error");
		await new Promise((resolve) => stream.write(mark, resolve));
	}
}

(async () => {
	for (const args of JSON.parse(readFileSync(path, "utf8"))) await run(args);
	process.exitCode = 0;
})();
