/** The folders of agents' logs. */
const { homedir } = require("node:os");
const { join } = require("node:path");

const { env, platform } = process;
/** That of the user; `/` of one who has none, as in a container. */
const home = (() => {
	try {
		return homedir();
	} catch {
		return "/";
	}
})();

/** The folder of the projects of Claude Code. */
const CLAUDE = join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), "projects");

const configuration =
	{ darwin: join(home, "Library", "Application Support"), win32: env.APPDATA }[platform] ||
	env.XDG_CONFIG_HOME ||
	join(home, ".config");

const PROGRAM = env.npm_command === "exec" ? "npx @knowledgepulse/scoring-cli" : "kp-score";

/** The folder of the tasks of an extension of Visual Studio Code. */
const tasksOf = (extension) =>
	join(configuration, "Code", "User", "globalStorage", extension, "tasks");

const TASKS = "*/api_conversation_history.json";

/** The agents, the folder and pattern of the logs of each, and the command if the folder cannot be scored. */
const PLACES = [
	["claude-code", CLAUDE, "**/*.jsonl"],
	["codex", join(env.CODEX_HOME || join(home, ".codex"), "sessions"), "**/*.jsonl{,.zst}"],
	["gemini-cli", join(env.GEMINI_CLI_HOME || home, ".gemini", "tmp"), "*/chats/**/*.json{,l}"],
	["copilot-cli", join(env.COPILOT_HOME || join(home, ".copilot"), "session-state"), "**/*.jsonl"],
	["cursor", join(home, ".cursor", "projects"), "*/agent-transcripts/**/*.jsonl"],
	["cline", tasksOf("saoudrizwan.claude-dev"), TASKS],
	["cline", join(home, ".cline", "data", "tasks"), TASKS],
	["cline", join(home, ".cline", "data", "sessions"), "*/*.messages.json"],
	[
		"vscode-chat",
		join(configuration, "Code", "User", "workspaceStorage"),
		"*/chatSessions/*.json{,l}",
	],
	["kiro", join(home, ".kiro", "sessions", "cli"), "*.jsonl"],
	["grok-build", join(home, ".grok", "sessions"), "*/*/chat_history.jsonl"],
	["junie", join(env.JUNIE_HOME || join(home, ".junie"), "sessions"), "*/events.jsonl"],
	["droid", join(home, ".factory", "sessions"), "**/*.jsonl"],
	["roo", tasksOf("rooveterinaryinc.roo-cline"), TASKS],
	["pi", join(home, ".pi", "agent", "sessions"), "**/*.jsonl"],
	["openclaw", join(home, ".openclaw", "agents"), "*/sessions/*.jsonl"],
	[
		"opencode",
		join(env.XDG_DATA_HOME || join(home, ".local", "share"), "opencode"),
		["opencode.db", "storage/session/**/*.json"],
		// It must export its sessions before they can be scored.
		`opencode export > run.json && ${PROGRAM} score run.json`,
	],
];

const SUBAGENTS = ["**/agent-*.jsonl", "**/subagents/**"];

module.exports = { SUBAGENTS, CLAUDE, home, PLACES, PROGRAM };
