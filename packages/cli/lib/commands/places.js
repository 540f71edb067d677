/** kp-score without arguments */
const { homedir } = require("node:os");
const { glob } = require("tinyglobby");
const { Output } = require("../output.js");
const { PLACES, PROGRAM } = require("../places.js");
const { count } = require("../terminal.js");

/** Quotes a folder for a shell. */
function typed(folder) {
	if (/[^\w./\\:~-]/.test(folder))
		return process.platform === "win32" ? `"${folder}"` : `'${folder}'`;
	// Not on Windows, whose folders have backslashes.
	return folder.startsWith(`${homedir()}/`) ? `~${folder.slice(homedir().length)}` : folder;
}

/** Lists the logs on this machine, with the commands that score them. */
module.exports = async function places() {
	const lines = [];
	for (const [format, cwd, pattern, command = `${PROGRAM} score ${typed(cwd)}`] of PLACES) {
		const { length } = await glob(pattern, { cwd, dot: true });
		const files = count(length, "file").padStart(12);
		if (length > 0) lines.push(`${format.padEnd(11)}  ${files}  ${command}`);
	}
	const head = lines.length > 0 ? "Logs of agents here:" : "No logs of agents found here.";
	const more = `${PROGRAM} --help shows the commands.`;
	const output = new Output();
	await output.write(`${[head, ...lines, more].join("\n")}\n`);
	await output.commit();
};
