/** Runs a command line: defines the commands, and turns errors into messages and exit codes. */
const { existsSync } = require("node:fs");
const { version } = require("../package.json");
const { Exit, InputError, Interrupted, cannot, end, exitCodeOf } = require("./exit.js");
const { hint, say, style, warn } = require("./terminal.js");

const HELP = `
Data goes to standard output: a table on a terminal, one JSON object a line with --json or when piped.
All else goes to standard error. Sources are files, folders, patterns in quotes, and - for standard input.
They are taken in the order of the first time in the beginning of each file, or else of its last change; streams
come last. Runs of one source stay in their order.

Exit codes:
  0    done
  1    an unexpected error
  2    wrong arguments, or input that cannot be used
  3    a gate that was asked for is not met, such as --min-share
  4    the embedder (see kp-score doctor) or the store (kp-score store status) is unavailable; or secrets cannot be removed
  130  interrupted; what was written until then is in FILE.partial, beside the FILE of -o, which stays as it was

Examples:
  $ kp-score                             # shows which logs of agents are on this machine
  $ kp-score score ~/.claude/projects
  $ kp-score score "logs/**/*.jsonl" --from otel --threshold 0.45
  $ kp-score explain runs.jsonl --id kp:trace:42
  $ kp-score calibrate runs.jsonl --target-share 0.2 --html report.html`;

/** The program with its commands, of which those in `argv` have their options. Modules are loaded when they are needed. */
function programOf(argv) {
	const { Command } = require("commander");
	const { COMMANDS, optionsOf } = require("./options.js");
	const program = new Command("kp-score")
		.description("Scores the logs of agents.")
		.version(version)
		.exitOverride()
		.configureOutput({ outputError: (text) => say(text.trimEnd()) })
		.showHelpAfterError("(kp-score --help shows the commands)")
		.addHelpText("after", HELP);
	for (const [name, defined] of Object.entries(COMMANDS)) {
		const { args = "<sources...>" } = defined;
		const command = program.command(`${name} ${args}`).description(defined.help);
		if (!argv.includes(name)) continue;
		command.showHelpAfterError(`(kp-score ${name} --help shows its options)`);
		const taken = new Set();
		for (const option of optionsOf(defined)) {
			command.addOption(option);
			if (option.isRepeated) continue;
			const key = option.attributeName();
			command.on(`option:${option.name()}`, () => {
				if (taken.has(key)) command.error(`error: option '${option.flags}' is given twice`);
				taken.add(key);
			});
		}
		const lines = defined.examples.map((line) => `  $ kp-score ${name} ${line}`);
		command.addHelpText("after", () => `${defined.more ?? ""}\nExamples:\n${lines.join("\n")}`);
		command.action(async (...given) => {
			const perform = require(`./commands/${name}.js`);
			let signal;
			try {
				process.exitCode = await perform(given.slice(0, -2), given.at(-2));
			} catch (error) {
				({ signal } = error);
				process.exitCode = report(error, given.at(-2));
			}
			await end(signal);
		});
	}
	return program;
}

/** The message of an error with the option, or the file, for what the engine calls it. */
function namedText({ message, path }, options) {
	if (typeof path !== "string" || !message.startsWith(`${path}: `)) return message;
	const text = message.slice(path.length);
	const [name, member] = path.split(/\.(.*)/);
	if (name === "profiles" && options.profiles !== undefined)
		return `${[options.profiles, member].filter(Boolean).join(": ")}${text}`;
	const isOption = name === "target" || options[name] !== undefined;
	return isOption ? `--${path.replace(/\.|(?=[A-Z])/g, "-").toLowerCase()}${text}` : message;
}

function report(error, options = {}) {
	const code = exitCodeOf(error);
	if (error instanceof Interrupted) {
		say(error.message);
		return code;
	}
	const { path, syscall } = error;
	const text = syscall && path ? cannot("use", path, error).message : namedText(error, options);
	const what = error.code === "STORE_UNAVAILABLE" ? "the store is unavailable: " : "";
	say(`${style("red", "error:")} ${what}${text}`);
	const isOfModel =
		/^(INVALID_SNAPSHOT|STORE_MISMATCH)$/.test(error.code) && / model\b/.test(error.message);
	hint(isOfModel ? "MODEL_MISMATCH" : error.code);
	return code;
}

/** Refuses names that begin with a dash, as the folders of Claude Code do, which would be taken for options. */
function checkNames(args) {
	const end = args.indexOf("--");
	const names = args.slice(0, end < 0 ? undefined : end);
	const isName = (name, index) =>
		/^-[^-]./.test(name) && !/^-/.test(args[index - 1]) && existsSync(name);
	const name = names.find(isName);
	if (name !== undefined)
		throw new InputError(
			`${name} is there, and begins as options do: write ./${name}, or -- before all names`,
		);
}

/** Sets the exit code. The process ends by itself when everything is written. */
async function main(argv) {
	process.stderr.on("error", () => {});
	process.stdout.on("error", () => {});
	process
		.removeAllListeners("warning")
		.on("warning", ({ message }) => warn(message.split("\n")[0]));
	try {
		const [, , ...args] = argv;
		if (args.length === 0) await require("./commands/places.js")();
		else if (args.length === 1 && /^(-V|--version)$/.test(args[0]))
			process.stdout.write(`${version}\n`);
		else {
			checkNames(args);
			await programOf(args).parseAsync(argv);
		}
	} catch (error) {
		if (error.code?.startsWith("commander."))
			process.exitCode = error.exitCode === 0 ? Exit.OK : Exit.INPUT;
		else process.exitCode = report(error);
	}
}

module.exports = { main };
