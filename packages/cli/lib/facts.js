/** Facts of runs as text, and which runs options select. */
const { count, duration, grouped } = require("./terminal.js");

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

function isSelected(row, { since, until, project, excludeProject = [] }) {
	const time = timeOf(row) ?? Number.NaN;
	return (
		(since === undefined || time >= since) &&
		(until === undefined || time < until) &&
		(project === undefined || projectOf(row) === project) &&
		!excludeProject.includes(projectOf(row))
	);
}

/** The id of a row, or its place. */
const nameOf = ({ id, source }) => id ?? `${source.name}:${source.line}`;

module.exports = {
	dateOf,
	factOf,
	factsOf,
	isSelected,
	nameOf,
	outcomeOf,
	projectOf,
	timeOf,
	tokensOf,
};
