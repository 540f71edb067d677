/** kp-score without arguments */
const { glob } = require("tinyglobby");
const { Output } = require("../output.js");
const { home, PLACES, PROGRAM, SUBAGENTS } = require("../places.js");
const { count } = require("../terminal.js");

function typed(folder) {
	if (/[^\w./\\:~-]/.test(folder))
		return process.platform === "win32" ? `"${folder}"` : `'${folder.replaceAll("'", "'\\''")}'`;
	// Not on Windows, whose folders have backslashes.
	return folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}

/** Lists the logs on this machine, with the commands that score them. */
module.exports = async function places() {
	const lines = [];
	for (const [agent, cwd, pattern, command = `${PROGRAM} score ${typed(cwd)}`] of PLACES) {
		const options = { cwd, dot: true, followSymbolicLinks: false, ignore: SUBAGENTS };
		const { length } = await glob(pattern, options);
		const files = count(length, "file").padStart(12);
		if (length > 0) lines.push(`${agent.padEnd(11)}  ${files}  ${command}`);
	}
	const folders = PLACES.map(([agent, cwd]) => `${agent.padEnd(11)}  ${typed(cwd)}`);
	const head =
		lines.length > 0
			? "Logs of agents here:"
			: ["No logs of agents found here. Looked in:", ...folders].join("\n");
	const more = `${PROGRAM} score FILE scores any log, ${PROGRAM} --help shows the commands.`;
	const output = new Output();
	await output.write(`${[head, ...lines, more].join("\n")}\n`);
	await output.commit();
};
