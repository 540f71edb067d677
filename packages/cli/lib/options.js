/** The commands and their options, each with its default, help and type. */
const { InvalidArgumentError, Option } = require("commander");

const FORMATS =
	`claude-code messages otel reasoning-trace codex langfuse atif inspect mini-swe-agent
	swe-agent tau pi`.split(/\s+/);

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

const collect = (value, all = []) => [...all, value];

/** @param settings `parse` or `choices` is its type. */
function option(flags, help, { parse, choices, conflicts = [], default: value } = {}) {
	const made = new Option(flags, help).default(value).conflicts(conflicts);
	if (parse) made.argParser(parse);
	return choices ? made.choices(choices) : made;
}

/** Every option by its name in JavaScript. */
const OPTIONS = {
	threshold: option("--threshold <score>", "score from which on a run is accepted", {
		parse: share,
	}),
	minShare: option(
		"--min-share <share>",
		"exit code 3 if a smaller share of the runs is accepted",
		{ parse: share },
	),
	decide: option(
		"--decide",
		"only decide: score a run only where that is needed, and compare with accepted runs only",
		{ conflicts: ["emitOtel", "group"] },
	),
	emitOtel: option(
		"--emit-otel <file>",
		"write gen_ai.evaluation.result log records, OTLP as JSON lines",
	),
	id: option("--id <id>", "id of a trace; may be repeated (default: all)", { parse: collect }),
	dryRun: option("--dry-run", "show what is in the logs, and write nothing", {
		conflicts: ["output"],
	}),
	maxChange: option("--max-change <score>", "exit code 3 if a score changed by more", {
		parse: share,
	}),
	limit: option("-n, --limit <pairs>", "rows of the table; NDJSON has all pairs", {
		parse: number(1, 1_000_000, true),
		default: 20,
	}),
	targetShare: option(
		"--target-share <share>",
		"choose the threshold that accepts this share of the runs",
		{ parse: share, conflicts: ["targetPrecision", "threshold"] },
	),
	targetPrecision: option(
		"--target-precision <share>",
		"choose the lowest threshold above which this share is labelled positive, by its lower confidence bound",
		{ parse: share, conflicts: ["targetShare", "threshold"] },
	),
	labels: option("--labels <file>", "labels: CSV with the columns id and label (1 or 0)"),
	fit: option("--fit", "fit the weights to the labels"),
	html: option("--html <file>", "write a report as one HTML file"),
	rows: option("--rows <file>", "write the rows, from which to calibrate again without the model"),
	first: option("--first <n>", "runs to exclude as cold start (default: a tenth, at most 10)", {
		parse: number(0, 1e9, true),
	}),
	level: option("--level <level>", "confidence level of the intervals", {
		parse: number(0.5, 0.999),
		default: 0.95,
	}),
	replicates: option("--replicates <n>", "bootstrap replicates", {
		parse: number(100, 10_000, true),
		default: 1000,
	}),
	seed: option("--seed <n>", "seed of the bootstrap and the folds", {
		parse: number(0, Number.MAX_SAFE_INTEGER, true),
		default: 0,
	}),
	group: option("--group <pointer>", "JSON pointer to the group of a trace, such as its task"),
	from: option("--from <format>", "format to read; others are skipped (default: all)", {
		choices: FORMATS,
	}),
	assumeSuccess: option(
		"--assume-success <value>",
		"success of runs whose log does not say whether they succeeded",
		{ choices: ["true", "false", "skip"] },
	),
	domain: option("-d, --domain <name>", "domain of imported runs (default: the format's)"),
	errors: option(
		"--errors <mode>",
		"reject: end at the first error; collect: go on, and end with exit code 2",
		{ choices: ["reject", "collect"], default: "reject" },
	),
	embedder: option(
		"--embedder <mode>",
		"required: fail without the model; auto, off: score with a novelty of 0.5",
		{ choices: ["required", "auto", "off"], default: "required" },
	),
	precision: option("--precision <name>", "precision of the model (default: exact)", {
		choices: ["exact", "fast"],
	}),
	memory: option(
		"--memory <file>",
		"snapshot of the traces scored before; score writes it back, other commands only read it",
	),
	profiles: option("--profiles <file>", "weights by domain, as JSON for new Scorer()"),
	store: option(
		"--store <url>",
		"shared memory: postgres://… or sqlite:FILE, with ?namespace=NAME, and create=1 for a new file (default, without --memory: the environment variable KP_SCORE_STORE)",
		{ conflicts: ["memory"] },
	),
	output: option("-o, --output <file>", "file to write (default: standard output)"),
	json: option("--json", "write NDJSON on a terminal too"),
	quiet: option("-q, --quiet", "write no summary and no progress, but warnings and errors"),
	progress: option("--no-progress", "show no progress"),
};

const CALIBRATING =
	`targetShare targetPrecision threshold labels fit html rows first level replicates
	seed`.split(/\s+/);
const READING = ["from", "assumeSuccess", "domain", "errors"];
const SCORING = ["embedder", "precision", "memory", "profiles", "store"];
const WRITING = ["output", "json", "quiet", "progress"];

const READING_EXAMPLES = [
	"sessions --from claude-code --assume-success true",
	"chats.json --domain customer_service --assume-success true",
	"logs --errors collect",
];

const SCORING_EXAMPLES = [
	"runs.jsonl --precision fast --embedder auto",
	"runs.jsonl --memory novelty.kpcache --profiles profiles.json",
	'runs.jsonl --store "sqlite:novelty.db?namespace=support"',
];

/** Every command by its name; `more` is text between the options and the examples. */
const COMMANDS = {
	score: {
		args: "<sources...>",
		help: "Scores the runs in logs, in the order of the time of the first run of each source.",
		options: [
			"threshold",
			"minShare",
			"decide",
			...READING,
			...SCORING,
			"group",
			"emitOtel",
			...WRITING,
		],
		examples: [
			"runs.jsonl",
			"runs.jsonl --json | jq .score",
			"runs.jsonl --quiet --no-progress --output rows.jsonl",
			"runs.jsonl --threshold 0.45 --min-share 0.8",
			"runs.jsonl --threshold 0.75 --decide",
			...READING_EXAMPLES,
			...SCORING_EXAMPLES,
			"runs.jsonl --group /metadata/task_id",
			"runs.jsonl --emit-otel evaluations.jsonl",
		],
	},
	explain: {
		args: "<sources...>",
		help: "Shows how scores come about. Earlier runs are scored too.",
		options: ["id", ...READING, ...SCORING, ...WRITING],
		examples: [
			"runs.jsonl --id kp:trace:42",
			"runs.jsonl --id kp:trace:42 --json --quiet --no-progress",
			"runs.jsonl --output accounts.jsonl",
			...READING_EXAMPLES,
			...SCORING_EXAMPLES,
		],
	},
	import: {
		args: "<sources...>",
		help: "Writes the runs in logs as traces, one a line.",
		options: ["dryRun", ...READING, ...WRITING],
		more: `\nFormats: ${FORMATS.join(", ")}.\n`,
		examples: [
			"sessions -d code --assume-success true --output traces.jsonl",
			"sessions --dry-run",
			"logs --dry-run --json",
			...READING_EXAMPLES.map((example) => `${example} -o traces.jsonl`),
			"logs -o traces.jsonl --quiet --no-progress",
		],
	},
	compare: {
		args: "<before> <after>",
		help: "Shows which scores changed, pair by pair, the largest change first.",
		options: ["maxChange", "threshold", "limit", ...READING, ...SCORING, ...WRITING],
		more: `
Each of the two has rows that kp-score score --json wrote, or logs, which are scored with an empty
memory unless one is given. Pairs have the same id; runs without one are paired in order.
`,
		examples: [
			"before.jsonl after.jsonl",
			"before.jsonl after.jsonl --limit 5 --threshold 0.6",
			"before.jsonl after.jsonl --max-change 0.01 --quiet",
			"before.jsonl after.jsonl --json --no-progress --output changes.jsonl",
			"rows.jsonl runs.jsonl --from otel --assume-success true --domain code --errors collect",
			...SCORING_EXAMPLES.map((example) => `rows.jsonl ${example}`),
		],
	},
	calibrate: {
		args: "<sources...>",
		help: "Shows what a threshold would do, chooses one, and fits weights to labels.",
		options: [...CALIBRATING, "group", ...READING, ...SCORING, ...WRITING],
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
			...READING_EXAMPLES,
			...SCORING_EXAMPLES,
		],
	},
	doctor: {
		args: "",
		help: "Shows what scores here: platform, addon, model, library, and how fast.",
		options: ["precision", "json"],
		examples: ["", "--precision fast", "--json"],
	},
};

module.exports = { COMMANDS, OPTIONS };
