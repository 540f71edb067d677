/** The folders of agents' logs. */
const { homedir } = require("node:os");
const { isAbsolute, join, relative, resolve, sep } = require("node:path");
const { glob } = require("tinyglobby");
const { Output } = require("./output.js");
const { count } = require("./terminal.js");

const { env, platform } = process;
const home = homedir();

const claude = join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), "projects");

const configuration =
	{ darwin: join(home, "Library", "Application Support"), win32: env.APPDATA }[platform] ||
	env.XDG_CONFIG_HOME ||
	join(home, ".config");

const PROGRAM = env.npm_command === "exec" ? "npx @knowledgepulse/scoring-cli" : "kp-score";

const inCode = join("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "tasks");

/** The format, folder and pattern of the logs of each agent, and the command if the folder cannot be scored. */
const PLACES = [
	["claude-code", claude, "**/*.jsonl"],
	["codex", join(env.CODEX_HOME || join(home, ".codex"), "sessions"), "**/*.jsonl{,.zst}"],
	["gemini-cli", join(env.GEMINI_CLI_HOME || home, ".gemini", "tmp"), "*/chats/**/*.json{,l}"],
	["copilot-cli", join(env.COPILOT_HOME || join(home, ".copilot"), "session-state"), "**/*.jsonl"],
	["cursor", join(home, ".cursor", "projects"), "*/agent-transcripts/**/*.jsonl"],
	["cline", join(configuration, inCode), "*/api_conversation_history.json"],
	["cline", join(home, ".cline", "data", "tasks"), "*/api_conversation_history.json"],
	[
		"opencode",
		join(env.XDG_DATA_HOME || join(home, ".local", "share"), "opencode"),
		["opencode.db", "storage/session/**/*.json"],
		// It must export its sessions before they can be scored.
		`opencode export > run.json && ${PROGRAM} score run.json`,
	],
];

/** Quotes a folder for a shell. */
function typed(folder) {
	if (/[^\w./\\:~-]/.test(folder)) return platform === "win32" ? `"${folder}"` : `'${folder}'`;
	// Not on Windows, whose folders have backslashes.
	return folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
}

/** Lists the logs on this machine, with the commands that score them. */
async function showPlaces() {
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
}

/** The project folder of a session of Claude Code; null for other files. */
function projectOf(path) {
	const below = relative(claude, resolve(path));
	const [project, ...rest] = below.split(sep);
	return isAbsolute(below) || project === ".." || rest.length === 0 ? null : project;
}

module.exports = { projectOf, showPlaces };
