/** The commands with their options and an example for each. */
const { InvalidArgumentError, Option } = require("commander");

const FORMATS = [
	"claude-code",
	"messages",
	"otel",
	"reasoning-trace",
	"codex",
	"langfuse",
	"atif",
	"inspect",
	"mini-swe-agent",
	"swe-agent",
	"tau",
	"pi",
];

/** A parser for numbers in a range. */
const number =
	(low, high, isWhole = false) =>
	(text) => {
		const value = text.trim() === "" ? Number.NaN : Number(text);
		if (value >= low && value <= high && (!isWhole || Number.isInteger(value))) return value;
		throw new InvalidArgumentError(
			`Expected a ${isWhole ? "whole " : ""}number from ${low} to ${high}.`,
		);
	};

const share = number(0, 1);

const option = (flags, text, settings = {}) => {
	const made = new Option(flags, text);
	if (settings.choices) made.choices(settings.choices);
	if (settings.default !== undefined) made.default(settings.default);
	if (settings.parse) made.argParser(settings.parse);
	return made;
};

const collect = (value, all = []) => [...all, value];

/** Such as `-o FILE`: options of several commands. */
const OPTIONS = {
	json: () => option("--json", "write NDJSON on a terminal too"),
	quiet: () => option("-q, --quiet", "write no summary and no progress, but warnings and errors"),
	progress: () => option("--no-progress", "show no progress"),
	errors: (value) =>
		option(
			"--errors <mode>",
			"reject: end at the first error; collect: go on, and end with exit code 2",
			{ choices: ["reject", "collect"], default: value },
		),
	precision: () =>
		option("--precision <name>", "precision of the model (default: exact)", {
			choices: ["exact", "fast"],
		}),
	embedder: () =>
		option(
			"--embedder <mode>",
			"required: fail without the model; auto, off: score with a novelty of 0.5",
			{ choices: ["required", "auto", "off"], default: "required" },
		),
	memory: (use) => option("--memory <file>", `snapshot of the traces scored before, ${use}`),
	profiles: () => option("--profiles <file>", "weights by domain, as JSON for new Scorer()"),
	output: () => option("-o, --output <file>", "file to write (default: standard output)"),
	store: () =>
		option(
			"--store <url>",
			"shared memory: postgres://… or sqlite:FILE, with ?namespace=NAME, and create=1 for a new file (default, without --memory: the environment variable KP_SCORE_STORE)",
		).conflicts("memory"),
	from: () =>
		option("--from <format>", "format to read; others are skipped (default: all)", {
			choices: FORMATS,
		}),
	assumeSuccess: () =>
		option(
			"--assume-success <value>",
			"success of runs whose log does not say whether they succeeded",
			{ choices: ["true", "false", "skip"] },
		),
	domain: () => option("-d, --domain <name>", "domain of imported runs (default: the format's)"),
	group: () =>
		option("--group <pointer>", "JSON pointer to the group of a trace, such as its task"),
};

/** Adds a command whose module is loaded when it runs. */
function add(program, usage, description, { options, examples, more = "" }) {
	const name = usage.split(" ")[0];
	const command = program.command(usage).description(description);
	for (const each of options) command.addOption(each);
	const lines = examples.map((line) => `  $ kp-score ${name} ${line}`);
	command.addHelpText("after", `${more}\nExamples:\n${lines.join("\n")}`);
	command.action(async (...given) => {
		const values = given.slice(0, -2);
		const run = require(`./commands/${name}.js`);
		process.exitCode = await run(values, given.at(-2));
	});
}

const scoring = (memory) => [
	OPTIONS.embedder(),
	OPTIONS.precision(),
	OPTIONS.memory(memory),
	OPTIONS.profiles(),
	OPTIONS.store(),
];

const reading = (errors = "reject") => [
	OPTIONS.from(),
	OPTIONS.assumeSuccess(),
	OPTIONS.domain(),
	OPTIONS.errors(errors),
];

const writing = () => [OPTIONS.output(), OPTIONS.json(), OPTIONS.quiet(), OPTIONS.progress()];

const READING_EXAMPLES = (rest = "") => [
	`sessions --from claude-code --assume-success skip${rest}`,
	`chats.json --domain customer_service --assume-success true${rest}`,
	`logs --errors collect${rest}`,
];

const SCORING_EXAMPLES = (file, rest = "") => [
	`${file} --precision fast --embedder auto${rest}`,
	`${file} --memory novelty.kpcache --profiles profiles.json${rest}`,
	`${file} --store "sqlite:novelty.db?namespace=support"${rest}`,
];

function score(program) {
	add(
		program,
		"score <sources...>",
		"Scores the runs in logs, in the order of the time of the first run of each source.",
		{
			options: [
				option("--threshold <score>", "score from which on a run is accepted", {
					parse: share,
				}),
				option("--min-share <share>", "exit code 3 if a smaller share of the runs is accepted", {
					parse: share,
				}),
				...reading(),
				...scoring("read before and saved after"),
				OPTIONS.group(),
				option(
					"--emit-otel <file>",
					"write gen_ai.evaluation.result log records, OTLP as JSON lines",
				),
				...writing(),
			],
			examples: [
				"runs.jsonl",
				"runs.jsonl --json | jq .score",
				"runs.jsonl --quiet --no-progress --output rows.jsonl",
				"runs.jsonl --threshold 0.45 --min-share 0.8",
				...READING_EXAMPLES(),
				...SCORING_EXAMPLES("runs.jsonl"),
				"runs.jsonl --group /metadata/task_id",
				"runs.jsonl --emit-otel evaluations.jsonl",
			],
		},
	);
}

function explain(program) {
	add(
		program,
		"explain <sources...>",
		"Shows how scores come about. Runs before the one that is asked for are scored, too.",
		{
			options: [
				option("--id <id>", "id of a trace; may be repeated (default: all)", {
					parse: collect,
				}),
				...reading(),
				...scoring("which is only read"),
				...writing(),
			],
			examples: [
				"runs.jsonl --id kp:trace:42",
				"runs.jsonl --id kp:trace:42 --json --quiet --no-progress",
				"runs.jsonl --output accounts.jsonl",
				...READING_EXAMPLES(),
				...SCORING_EXAMPLES("runs.jsonl"),
			],
		},
	);
}

function importing(program) {
	add(program, "import <sources...>", "Writes the runs in logs as traces, one a line.", {
		options: [
			option("--dry-run", "show what is in the logs, and write nothing"),
			...reading(),
			...writing(),
		],
		more: `\nFormats: ${FORMATS.join(", ")}.\n`,
		examples: [
			"sessions -d code --assume-success skip --output traces.jsonl",
			"sessions --dry-run",
			"logs --dry-run --json",
			...READING_EXAMPLES(" -o traces.jsonl"),
			"logs -o traces.jsonl --quiet --no-progress",
		],
	});
}

function compare(program) {
	add(
		program,
		"compare <before> <after>",
		"Shows which scores changed, pair by pair, the largest change first.",
		{
			options: [
				option("--max-change <score>", "exit code 3 if a score changed by more", {
					parse: share,
				}),
				option("--threshold <score>", "show how many runs are accepted before and after", {
					parse: share,
				}),
				option("-n, --limit <pairs>", "rows of the table; NDJSON has all pairs", {
					parse: number(1, 1_000_000, true),
					default: 20,
				}),
				...reading(),
				...scoring("which is only read"),
				...writing(),
			],
			more: `
Each of the two has rows that kp-score score --json wrote, or logs, which are scored with an empty
memory unless one is given.
Pairs have the same id; runs without one are paired in order.
`,
			examples: [
				"before.jsonl after.jsonl",
				"before.jsonl after.jsonl --limit 5 --threshold 0.6",
				"before.jsonl after.jsonl --max-change 0.01 --quiet",
				"before.jsonl after.jsonl --json --no-progress --output changes.jsonl",
				"rows.jsonl runs.jsonl --from otel --assume-success true --domain code --errors collect",
				...SCORING_EXAMPLES("rows.jsonl", " runs.jsonl"),
			],
		},
	);
}

function calibrate(program) {
	add(
		program,
		"calibrate <sources...>",
		"Shows what a threshold would do, chooses one, and fits weights to labels.",
		{
			options: [
				option(
					"--target-share <share>",
					"choose the threshold that accepts this share of the runs",
					{
						parse: share,
					},
				),
				option(
					"--target-precision <share>",
					"choose the lowest threshold above which this share is labelled positive, by its lower confidence bound",
					{ parse: share },
				),
				option("--threshold <score>", "evaluate this threshold", {
					parse: share,
				}),
				option("--labels <file>", "labels: CSV with the columns id and label (1 or 0)"),
				option("--fit", "fit the weights to the labels"),
				option("--html <file>", "write a report as one HTML file"),
				option("--rows <file>", "write the rows, from which to calibrate again without the model"),
				option("--first <n>", "runs to exclude as cold start (default: a tenth, at most 10)", {
					parse: number(0, 1e9, true),
				}),
				option("--level <level>", "confidence level of the intervals", {
					parse: number(0.5, 0.999),
					default: 0.95,
				}),
				option("--replicates <n>", "bootstrap replicates", {
					parse: number(100, 10_000, true),
					default: 1000,
				}),
				option("--seed <n>", "seed of the bootstrap and the folds", {
					parse: number(0, Number.MAX_SAFE_INTEGER, true),
					default: 0,
				}),
				OPTIONS.group(),
				...reading(),
				...scoring("which is only read"),
				...writing(),
			],
			more: `
The sources have rows that kp-score score --json wrote, for which no model is needed, or logs, which are
scored as kp-score score does.
`,
			examples: [
				"runs.jsonl --target-share 0.2 --html report.html --rows rows.jsonl",
				"rows.jsonl --labels labels.csv --target-precision 0.9 --fit",
				"rows.jsonl --threshold 0.5 --first 20",
				"rows.jsonl --level 0.9 --replicates 5000 --seed 7",
				"runs.jsonl --group /metadata/task_id --json --quiet --no-progress --output calibration.json",
				...READING_EXAMPLES(),
				...SCORING_EXAMPLES("runs.jsonl"),
			],
		},
	);
}

function doctor(program) {
	add(program, "doctor", "Says what scores here: platform, addon, model, library, and how fast.", {
		options: [OPTIONS.precision(), OPTIONS.json()],
		examples: ["", "--precision fast", "--json"],
	});
}

module.exports = [score, explain, importing, compare, calibrate, doctor];
