/** Facts of runs as text, their groups, and which runs options select. */
const { isAbsolute, relative, resolve, sep } = require("node:path");
const { CLAUDE } = require("./places.js");
const { count, duration, grouped, warn } = require("./terminal.js");

/** A fact of a row by its name; null if unknown. */
const factOf = (name, row) => row.facts?.[name] ?? null;

/** The last folder of the path in which a run took place; null if unknown. */
const projectOf = ({ facts }) => facts?.cwd?.split(/[/\\]/).filter(Boolean).at(-1) ?? null;

/** The time in milliseconds at which a run began; null if unknown. */
function timeOf({ createdAt }) {
	const time = Date.parse(createdAt);
	// Runs without a time are of 1970.
	return time > 0 ? time : null;
}

const dateOf = (row) => (timeOf(row) === null ? null : row.createdAt.slice(0, 10));

/** The tokens that models read and wrote, without those from a cache; null if unknown. */
function tokensOf({ facts }) {
	const { tokens } = facts ?? {};
	return tokens ? tokens.input + (tokens.cacheWrite ?? 0) + tokens.output : null;
}

/** Such as `succeeded`, or `success assumed`. */
function outcomeOf({ success, successFrom }) {
	if (successFrom === "assumed") return `${success ? "success" : "failure"} assumed`;
	return success ? "succeeded" : "failed";
}

/** The id of a run, or else its place. */
const nameOf = ({ id, source }) => id ?? `${source.name}:${source.line}`;

/** What is known of a run beside its score, in words. */
function factsOf(row) {
	const { facts = {}, domain, steps } = row;
	const { activeMs, calls, failed, refused } = facts;
	const tokens = tokensOf(row);
	const known = [
		projectOf(row),
		dateOf(row),
		activeMs === undefined ? null : `active ${duration(activeMs)}`,
		tokens === null ? null : count(tokens, "token"),
		calls && `${grouped(failed)} of ${count(calls, "call")} failed`,
		refused && `${grouped(refused)} refused`,
		outcomeOf(row),
		count(steps, "step"),
		domain,
	];
	return known.filter(Boolean).join(" · ");
}

/** Which runs the options of a job select. */
class Choice {
	#options;
	#sources;
	/** The times of the sources by name, once they are needed. */
	#times;
	#undated = 0;
	#selected = 0;
	#projects = new Set();

	constructor(options, sources) {
		this.#options = options;
		this.#sources = sources;
	}

	/** Whether runs are selected at all. */
	get isAsked() {
		const { since, until, project, excludeProject } = this.#options;
		return [since, until, project, excludeProject].some((given) => given !== undefined);
	}

	/** The time of a run, or else that of its source, by which they are sorted; a stream is of now. */
	#timeOf(row) {
		const time = timeOf(row);
		if (time !== null) return time;
		this.#undated += 1;
		this.#times ??= new Map(this.#sources.map(({ name, time }) => [name, time]));
		return this.#times.get(row.source.name) ?? Date.now();
	}

	has(row) {
		const { since = -Infinity, until = Infinity, project, excludeProject = [] } = this.#options;
		const own = projectOf(row);
		this.#projects.add(own);
		const isTimed = since > -Infinity || until < Infinity;
		const time = isTimed ? this.#timeOf(row) : 0;
		const isSelected =
			time >= since &&
			time < until &&
			(project === undefined || own === project) &&
			!excludeProject.includes(own);
		if (isSelected) this.#selected += 1;
		return isSelected;
	}

	/** Says what is unexpected about the choice. */
	warn() {
		const { project } = this.#options;
		const runs = count(this.#undated, "run");
		if (this.#undated > 0)
			warn(`--since and --until took the time of the file for ${runs} without one`);
		if (project === undefined || this.#selected > 0) return;
		const names = [...this.#projects].filter((name) => name !== null && name !== project);
		const known = names.length > 0 ? `; there are ${names.slice(0, 5).join(", ")}` : "";
		warn(`no run is selected of the project ${project}${known}`);
	}
}

/** The group of a run without `--group`: the folder of its project, or that of Claude Code's logs; null if unknown. */
function groupOf({ facts, source }) {
	if (facts?.cwd) return facts.cwd;
	const path = relative(CLAUDE, resolve(source.name));
	const [project, ...rest] = path.split(sep);
	return isAbsolute(path) || project === ".." || rest.length === 0 ? null : project;
}

module.exports = {
	Choice,
	dateOf,
	factOf,
	factsOf,
	groupOf,
	nameOf,
	outcomeOf,
	projectOf,
	timeOf,
	tokensOf,
};
