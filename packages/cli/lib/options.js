/** The commands and their options, each defined once, with its default, help and type. */
const { InvalidArgumentError, Option } = require("commander");

/** The names of the formats. Lazy, because they need the addon, which some commands do not load. */
const formats = () => require("@knowledgepulse/scoring/logs").LOG_FORMATS;

const format = (name) => {
	if (formats().includes(name)) return name;
	throw new InvalidArgumentError(`Allowed choices are ${formats().join(", ")}.`);
};

const number =
	(low, high, isWhole = false) =>
	(text) => {
		const value = text.trim() === "" ? Number.NaN : Number(text);
		if (value >= low && value <= high && (!isWhole || Number.isInteger(value))) return value;
		const kind = isWhole ? "whole number" : "number";
		throw new InvalidArgumentError(`Expected a ${kind} from ${low} to ${high}.`);
	};

const share = number(0, 1);
const positive = number(1, 1_000_000, true);
const whole = number(0, Number.MAX_SAFE_INTEGER, true);

const DAY_MS = 86_400_000;

/** Days before the present one, such as `7d`. */
const DAYS_AGO = /^(\d{1,5})d$/;

/** A parser for a day or a time, as milliseconds: of a day its beginning, or for `isEnd` its end, in UTC. */
const time =
	(isEnd = false) =>
	(given) => {
		const ago = DAYS_AGO.exec(given);
		const text = ago ? new Date(Date.now() - ago[1] * DAY_MS).toISOString().slice(0, 10) : given;
		const day = text.slice(0, 10);
		// Date.parse takes the 30th of February for a day in March; an invalid date has no JSON.
		const isDate = day.length === 10 && new Date(day).toJSON()?.startsWith(day);
		// Without a zone, Date.parse takes a time for a local one.
		const value = isDate ? Date.parse(text.replace(/T[\d:.]+$/, "$&Z")) : Number.NaN;
		if (!Number.isNaN(value)) return isEnd && text === day ? value + DAY_MS : value;
		throw new InvalidArgumentError(
			"Expected a day such as 2026-01-31, days ago such as 7d, or an ISO 8601 time.",
		);
	};

/** Of options that take a text; flags are parsed, too. */
const text = (value) => {
	if (value?.trim() !== "") return value;
	throw new InvalidArgumentError("Expected a value, found nothing.");
};

/** Of options with a file to write, which is not standard output. */
const newFile = (value) => {
	if (value !== "-") return text(value);
	throw new InvalidArgumentError("Expected a file; ./- is one of this name.");
};

/** Of an option that may be repeated. */
const all = (value, values = []) => [...values, text(value)];

/** Every option by its flags: its help, its parser or values, its default. */
const OPTIONS = {
	"--count <n>": ["the most runs to keep", positive],
	"--coverage <share>": ["keep runs until they cover this share of all; try 0.5", number(0.001, 1)],
	"--success": "only runs that are known to have succeeded, not those of which it is assumed",
	"--per-group <k>": ["keep at most this many runs of a group", positive],
	"--against <file>":
		"traces, or rows, of runs that were kept earlier: what they cover is not kept again",
	"--dropped <file>": [
		"write the other runs, a line each, with the run that stands for it, or the reason",
		newFile,
	],
	"--as <form>": [
		"what `-o` gets: `traces`, or `messages`, as chat models are trained on, without secrets (default: `traces`)",
		["traces", "messages"],
	],
	"--redact":
		"replace secrets in what `-o` gets by the names of their rules; needs Secretlint (default: of messages)",
	"--no-redact": "leave secrets in messages",
	"--copy <folder>": "copy the logs of the kept runs there, as they are",
	"--threshold <score>": ["the lowest accepted score", share],
	"--min-share <share>": ["exit code 3 if a smaller share of the runs is accepted", share],
	"--top <n>": ["only the runs with the highest scores, the highest first", positive],
	"--facts":
		"show the project, date, active time, tokens, failed and refused calls of each run in the table, in place of the dimensions",
	"--since <date>": ["only runs that began on this day (UTC) or later", time()],
	"--until <date>": ["only runs that began on this day (UTC) or earlier", time(true)],
	"--project <name>": "only runs in folders of this name",
	"--exclude-project <name>": ["no runs in folders of this name; may be repeated", all],
	"--by <fact>": [
		"one line for all runs of a `project` or of a `week`, in place of each run",
		["project", "week"],
	],
	"--decide":
		"only decide: score a run only where that is needed, and compare with accepted runs only",
	"--again":
		"score runs that the memory or store has, as they were scored then, and do not add them again (default: leave them out)",
	"--id <id>": ["id of a trace, or its beginning; may be repeated (default: all)", all],
	"--dry-run": "show what is in the logs, and write nothing",
	"--max-change <score>": [
		"exit code 3 if a score changed by more, or a run is only on one side",
		share,
	],
	"-n, --limit <pairs>": ["rows of the table; NDJSON has all pairs", positive, 20],
	"--target-share <share>": ["choose the threshold that accepts this share of the runs", share],
	"--target-precision <share>": [
		"choose the lowest threshold above which this share is labelled positive, by its lower confidence bound",
		share,
	],
	"--labels <file>": [
		"whether runs succeeded, from elsewhere: CSV or JSON lines with `id` (of the trace or the log) and `label` or `success` (1, 0 or nothing), and columns for `--group`; may be repeated, later files stand over earlier ones",
		all,
	],
	"--fit": "fit the weights to the labels",
	"--html <file>": ["write a report as one HTML file", newFile],
	"--rows <file>": ["write the rows, from which to calibrate again without the model", newFile],
	"--first <n>": [
		"runs to exclude as cold start (default: a tenth, at most 10)",
		number(0, 1e9, true),
	],
	"--level <level>": ["confidence level of the intervals", number(0.5, 0.999), 0.95],
	"--replicates <n>": ["bootstrap replicates", number(100, 10_000, true), 1000],
	"--seed <n>": ["seed of the bootstrap and the folds", whole, 0],
	"--group <pointer>":
		"JSON pointer to the group of a trace, such as `/metadata/task_id`, or for `select` a column of the labels (default: the folder of the project)",
	"--from <format>": ["format to read; others are skipped (default: all)", format],
	"--assume-success <value>": [
		"success of runs whose log does not say whether they succeeded (default: `true` for `score`, `select` and `explain`; else such a run is an error)",
		["true", "false", "skip"],
	],
	"-d, --domain <name>": "domain of imported runs (default: the format's)",
	"--errors <mode>": [
		"`reject`: end at the first error; `collect`: go on, and end with exit code 2 (default: `reject`, but pass over errors in files of folders)",
		["reject", "collect"],
	],
	"--embedder <mode>": [
		"`required`: fail without the model; `auto`, `off`: score with a novelty of 0.5",
		["required", "auto", "off"],
		process.env.KNOWLEDGEPULSE_SCORING_EMBEDDER || "required",
	],
	"--precision <name>": ["precision of the model (default: `exact`)", ["exact", "fast"]],
	"--model <folder>": "another model (default: the built-in one)",
	"--pooling <name>": [
		"how its vectors of tokens become one (default: its own)",
		["mean", "cls", "last"],
	],
	"--novelty <kind>": [
		"what novelty compares: the `text` that the model sees, the whole `run`, or its `words`, without the model (default: `text`, for `select` `run`)",
		["text", "run", "words"],
	],
	"--memory <file>": [
		"snapshot of the traces scored before, for `select` kept before; `score`, and `select` with -o or --copy, write it back, other commands only read it (with `--store`, `score` reads only what came after it)",
		newFile,
	],
	"--profiles <file>": "weights by domain, as JSON for `new Scorer()`",
	"--store <url>":
		"shared memory: `postgres://…` or `sqlite:FILE`, with `?namespace=NAME`, and `create=1` for a new file (default, without `--memory`: the environment variable `KP_SCORE_STORE`)",
	"--max-elements <n>": [
		"how many runs of a new namespace are compared, the newest ones (default: 1000)",
		number(1, 2 ** 32 - 1, true),
	],
	"--ttl-ms <ms>": ["how long they are compared, in milliseconds (default: without end)", whole],
	"-o, --output <file>": "file to write (default: standard output)",
	"--json": "write NDJSON on a terminal too",
	"--table": "write a table, also into a file or a pipe",
	"-q, --quiet": "write no summary and no progress, but warnings and errors",
	"--no-progress": "show no progress",
};

const CONFLICTS = {
	by: ["facts", "html", "top"],
	decide: "again by excludeProject facts group html labels project since top until".split(" "),
	dryRun: ["as", "output", "redact"],
	table: ["json"],
	targetShare: ["targetPrecision", "threshold"],
	targetPrecision: ["threshold"],
};

/** The options of a command, in their order. */
function optionsOf({ options }) {
	const made = Object.entries(OPTIONS).map(([flags, given]) => {
		const [help, type, value] = [given].flat();
		const option = new Option(flags, help.replaceAll("`", "")).default(value);
		option.conflicts(CONFLICTS[option.attributeName()] ?? []);
		option.isRepeated = type === all;
		return Array.isArray(type) ? option.choices(type) : option.argParser(type ?? text);
	});
	const of = (name) => made.filter((option) => option.attributeName() === name);
	return options.split(/\s+/).flatMap(of);
}

const GATING = "threshold minShare top decide again";
const SELECTING = "since until project excludeProject";
const READING = "from assumeSuccess domain errors";
/** Of a command that shares no memory, and of others. */
const ALONE = "embedder precision model pooling novelty memory profiles";
const SCORING = `${ALONE} store`;
const SAVING = "labels as redact";
const WRITING = "output json table quiet progress";

const READING_EXAMPLES = [
	"sessions --from claude-code --assume-success true",
	"chats.json --domain customer_service --assume-success true",
	"logs --errors collect",
];

const SCORING_EXAMPLES = [
	"runs.jsonl --precision fast --embedder auto",
	"runs.jsonl --novelty run",
	"runs.jsonl --memory novelty.kpcache --profiles profiles.json",
	"runs.jsonl --model models/multilingual-e5-small --pooling mean",
	'runs.jsonl --store "sqlite:novelty.db?namespace=support"',
];

/** Every command by its name; `more` is text between the options and the examples. By default it takes sources. */
const COMMANDS = {
	score: {
		help: "Scores the runs in logs, in the order of the times of their sources.",
		options: `${GATING} html facts ${SELECTING} by ${READING} ${SCORING} group labels ${WRITING}`,
		examples: [
			"runs.jsonl",
			"runs.jsonl --json | jq .score",
			"runs.jsonl --table | head",
			"runs.jsonl --quiet --no-progress --output rows.jsonl",
			"runs.jsonl --threshold 0.45 --min-share 0.8",
			"runs.jsonl --top 10",
			"sessions --html runs.html",
			"sessions --facts --since 2026-01-01 --until 2026-01-31",
			"sessions --by project --project shop",
			"sessions --by week --since 14d --exclude-project scratch",
			"sessions --labels labels.csv",
			"runs.jsonl --threshold 0.75 --decide",
			...READING_EXAMPLES,
			...SCORING_EXAMPLES,
			"runs.jsonl --group /metadata/task_id",
			"sessions --memory novelty.kpcache --again",
		],
	},
	select: {
		help: "Keeps the fewest runs that stand for all: always the next one that covers most of what is not covered.",
		options: `count coverage success perGroup group against dropped html copy ${SAVING} facts ${SELECTING} ${READING}
			${ALONE} ${WRITING}`,
		more: `
The kept runs are shown in their order, with their scores, how much they cover, and how many runs each stands
for. --output gets their traces, one a line, as kp-score import writes them, or their messages. With --memory,
runs are kept that those of earlier sets do not cover; --output or --copy adds them to it.
`,
		examples: [
			"sessions --count 10",
			"sessions --coverage 0.5 --html kept.html --dropped dropped.jsonl",
			"sessions --count 10 --success --labels labels.csv -o kept.jsonl --as messages",
			"sessions --count 10 -o kept.jsonl --as messages --no-redact",
			"sessions --count 10 -o kept.jsonl --redact",
			"sessions --count 10 --memory kept.kpcache -o new.jsonl --since 7d --exclude-project scratch",
			"sessions --count 10 --against kept.jsonl --per-group 2 --group /metadata/task_id",
			"sessions --count 10 --copy chosen --since 2026-01-01 --until 2026-01-31 --project shop",
			"runs.jsonl --count 50 -o kept.jsonl --facts --table",
			"runs.jsonl --count 5 --json --quiet --no-progress --output kept.jsonl",
			"runs.jsonl --count 5 --profiles profiles.json",
			...[...READING_EXAMPLES, ...SCORING_EXAMPLES]
				.filter((example) => !/--(memory|store)/.test(example))
				.map((example) => `${example} --count 5`),
		],
	},
	explain: {
		help: "Shows how scores come about, of rows that kp-score score wrote, or of logs, whose earlier runs are scored too.",
		options: `id labels ${READING} ${SCORING} ${WRITING}`,
		examples: [
			"runs.jsonl --id kp:trace:77d0401e",
			"runs.jsonl --id kp:trace:42 --json --quiet --no-progress",
			"runs.jsonl --output accounts.jsonl",
			"rows.jsonl --id 77d0401e --table",
			"runs.jsonl --labels labels.csv",
			...READING_EXAMPLES,
			...SCORING_EXAMPLES,
		],
	},
	import: {
		help: "Writes the runs in logs as traces, one a line.",
		options: `dryRun ${SAVING} ${READING} ${WRITING}`,
		get more() {
			return `\nFormats: ${formats().join(", ")}.\n`;
		},
		examples: [
			"sessions -d code --assume-success true --output traces.jsonl",
			"sessions --assume-success true -o messages.jsonl --as messages --labels labels.csv",
			"sessions --assume-success true -o traces.jsonl --redact",
			"sessions --assume-success true -o messages.jsonl --as messages --no-redact",
			"sessions --dry-run",
			"logs --dry-run --json",
			"logs --dry-run --table | sort",
			...READING_EXAMPLES.map((example) => `${example} -o traces.jsonl`),
			"logs -o traces.jsonl --quiet --no-progress",
		],
	},
	compare: {
		args: "<before> <after>",
		help: "Shows which scores changed, pair by pair, the largest change first.",
		options: `maxChange threshold limit labels ${READING} ${SCORING} ${WRITING}`,
		more: `
Each of the two has rows that kp-score score --json wrote, or logs, which are scored with an empty
memory unless one is given. Pairs have the same id; runs without one are paired in order.
`,
		examples: [
			"before.jsonl after.jsonl",
			"before.jsonl after.jsonl --limit 5 --threshold 0.6 --table",
			"before.jsonl after.jsonl --max-change 0.01 --quiet",
			"before.jsonl after.jsonl --json --no-progress --output changes.jsonl",
			"rows.jsonl runs.jsonl --labels labels.csv",
			"rows.jsonl runs.jsonl --from otel --assume-success true --domain code --errors collect",
			...SCORING_EXAMPLES.map((example) => `rows.jsonl ${example}`),
		],
	},
	calibrate: {
		help: "Shows what a threshold would do, chooses one, and fits weights to labels.",
		options: `targetShare targetPrecision threshold labels fit html rows first level replicates seed group ${READING}
			${SCORING} ${WRITING}`,
		more: `
The sources have rows that kp-score score --json wrote, for which no model is needed, or logs, which are
scored as kp-score score does.
`,
		examples: [
			"runs.jsonl --target-share 0.2 --html report.html --rows rows.jsonl",
			"rows.jsonl --labels labels.csv --target-precision 0.9 --fit",
			"rows.jsonl --threshold 0.5 --first 20 --table",
			"rows.jsonl --level 0.9 --replicates 5000 --seed 7",
			"runs.jsonl --group /metadata/task_id --json --quiet --no-progress --output calibration.json",
			...READING_EXAMPLES,
			...SCORING_EXAMPLES,
		],
	},
	store: {
		args: "<action> [value]",
		help: "Makes and shows a store, drops a namespace of it, and forgets what is old.",
		options: "store maxElements ttlMs novelty precision model pooling json",
		more: `
The action is one of
  init                 makes tables that are missing, or the file, and with bounds or --novelty the namespace
  list                 shows the names of all namespaces
  status               shows the bounds and the model of the namespace, its entries, and their bytes
  drop NAMESPACE       deletes a namespace with all of its entries
  forget-before DATE   deletes the entries that were added before a day such as 2026-01-31, or 7d ago
`,
		examples: [
			'init --store "sqlite:novelty.db?namespace=support" --max-elements 100000 --ttl-ms 604800000',
			'init --store "sqlite:words.db" --novelty words',
			"init --store sqlite:fast.db --novelty run --precision fast",
			"init --store sqlite:e5.db --novelty text --model models/multilingual-e5-small --pooling mean",
			'status --store "sqlite:novelty.db?namespace=support" --json',
			"forget-before 30d --store sqlite:novelty.db",
			"drop support --store sqlite:novelty.db",
		],
	},
	doctor: {
		args: "",
		help: "Shows what scores here: platform, addon, model, library, and how fast.",
		options: "precision json",
		examples: ["", "--precision fast", "--json"],
	},
};

module.exports = { COMMANDS, OPTIONS, optionsOf, time };
