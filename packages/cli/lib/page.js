/** Pages of runs: all of kp-score score --html, the best first, and those that kp-score select keeps, in their order. */
const { randomUUID } = require("node:crypto");
const { version } = require("../package.json");
const { RULES, explained, partsOf, traceOf } = require("./account.js");
const { factOf, factsOf, nameOf, timeOf, tokensOf } = require("./facts.js");
const { count, grouped, masked, percent } = require("./terminal.js");

/** An argument of the command line, without the store, whose URL may have a password anywhere. */
const shownArgument = (argument, index, all) =>
	all[index - 1] === "--store" ? "***" : masked(argument.replace(/^--store=.*$/s, "--store=***"));

/** What made a page: the command as it was typed, without secrets and the folders of Node.js and the script. */
const settingsOf = () => ({
	command: ["kp-score", ...process.argv.slice(2).map(shownArgument)].join(" "),
	made: new Date().toISOString(),
	"kp-score": version,
});

/** The orders of the page: a name, and the number of a row by which it is sorted, the greatest first. */
const ORDERS = Object.entries({
	selection: ({ kept }) => (kept === undefined ? null : -kept),
	"runs it stands for": ({ standsFor }) => standsFor ?? null,
	score: ({ score }) => score,
	novelty: ({ dimensions }) => dimensions.novelty,
	date: timeOf,
	"active time": (row) => factOf("activeMs", row),
	tokens: tokensOf,
	"failed calls": (row) => factOf("failed", row),
	"refused calls": (row) => factOf("refused", row),
});

/** The reasons of the score of a row, of which there is an account. `objectives` are those of all rows by id. */
function reasonsOf(row, account, objectives) {
	const reasons = partsOf(account).map(
		({ title, value, product, most, cause }) =>
			`${title}: ${[`${value.toFixed(3)} ${product}`, most, cause].filter(Boolean).join(", ")}`,
	);
	for (const name of row.overrides) reasons.push(`${name}: ${RULES[name]}`);
	const { id, key, nearest, similarity, source } = row;
	const names = [id ?? "(no id)", key !== id && key, `${source.name}:${source.line}`];
	if (similarity !== null) {
		const objective = nearest === null ? undefined : objectives.get(nearest);
		reasons.push(`nearest: ${[nearest ?? "(no id)", objective].filter(Boolean).join(", ")}`);
	}
	return [...reasons, names.filter(Boolean).join(" · ")];
}

/** Lone surrogates cannot be written. */
const wellFormed = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);

/**
 * Resolves to a page of rows as HTML. `accountOf` gives the account of a row, `moreOf` what else the page has of it; `all` are
 * the rows among which its nearest one may be.
 */
function htmlOf({ title, rows, all = rows, accountOf, moreOf = () => ({}), ...page }) {
	const { native } = require("@knowledgepulse/scoring/internal/native");
	const context = { title, settings: Object.entries(settingsOf()) };
	const objectives = new Map(all.map(({ id, objective }) => [id, objective]));
	const orders = ORDERS.filter(([, keyOf]) => rows.some((row) => keyOf(row) !== null));
	const runs = rows.map((row, index) => ({
		keys: orders.map(([, keyOf]) => keyOf(row)),
		id: row.id,
		score: row.score.toFixed(3),
		title: row.objective,
		facts: factsOf(row),
		reasons: reasonsOf(row, accountOf(row, index), objectives),
		...moreOf(row, index),
	}));
	const names = orders.map(([name]) => name);
	const whole = { context, nonce: randomUUID(), orders: names, runs, ...page };
	return native.runsPage(JSON.stringify(whole, wellFormed));
}

/** Resolves to the page of rows as HTML, with `figures` and `notes` in its header. */
function pageOf(all, { figures, notes, profiles }) {
	const rows = all.toSorted((a, b) => b.score - a.score);
	const accountOf = (row) => explained(row, profiles);
	return htmlOf({ title: "Scores of runs", rows, accountOf, figures, notes });
}

/** How many steps of a run are shown, and how many characters of each. */
const STEPS = 40;
const CHARACTERS = 2000;

/** How many kept runs have their steps in the page: with those of thousands, no browser would open it. */
const DETAILED = 200;

/** A step as an item of a list: of a call its input. */
function stepItem({ type, tool, content, input }) {
	const text = content || (input === undefined ? "" : JSON.stringify(input));
	const start = [...text.slice(0, 2 * CHARACTERS)].slice(0, CHARACTERS).join("");
	return [tool?.name ? `${type}, ${tool.name}` : type, start + (start === text ? "" : "…"), ""];
}

/** The steps of a trace as {@link keptPage} takes them: `{ steps, more }`. */
const stepsOf = ({ steps }) => ({
	steps: steps.slice(0, STEPS).map(stepItem),
	more: Math.max(steps.length - STEPS, 0),
});

const memberItem = ({ row, similarity }) => [similarity.toFixed(3), row.objective, nameOf(row)];

/** The lists below a kept run: those that it stands for, and its steps. */
function listsOf({ members, steps = [], more = 0 }) {
	const first = more > 0 ? `the first ${steps.length} of ` : "";
	const lists = [
		{ name: `stands for ${count(members.length, "other run")}`, items: members.map(memberItem) },
		{ name: first + count(steps.length + more, "step"), items: steps },
	];
	return lists.filter(({ items }) => items.length > 0);
}

/** The runs that were dropped as lists, one for each reason. */
function othersOf(dropped) {
	const rows = new Map(dropped.map(({ reason }) => [reason, []]));
	for (const { row, reason } of dropped) rows.get(reason).push(row);
	return Array.from(rows, ([reason, alike]) => ({
		name: `${reason}: ${count(alike.length, "run")}`,
		items: alike.map((row) => ["", row.objective, `${factsOf(row)} · ${nameOf(row)}`]),
	}));
}

/**
 * Resolves to the page of a selection as HTML. `kept` has the chosen runs in their order: `{ row, report, coverage,
 * standsFor, members, steps, more }`, where `members` are `{ row, similarity }` of the other runs for which it stands; `steps` and
 * `more`, of the first {@link DETAILED}, are from {@link stepsOf}. `dropped` are `{ row, reason }` of the runs for which none
 * stands.
 */
function keptPage({ kept, dropped, notes = [] }) {
	const all = [kept, kept.flatMap(({ members }) => members), dropped].flat();
	const rows = kept.map((each, index) => ({ ...each.row, kept: index, standsFor: each.standsFor }));
	const stood = rows.reduce((sum, { standsFor }) => sum + standsFor, 0);
	return htmlOf({
		title: "Kept runs",
		rows,
		all: all.map(({ row }) => row),
		accountOf(row, index) {
			return { trace: traceOf(row), provenance: row, report: kept[index].report };
		},
		moreOf(row, index) {
			const stands = `stands for ${count(row.standsFor, "run")}, coverage ${percent(kept[index].coverage)}`;
			return { facts: `${stands} · ${factsOf(row)}`, lists: listsOf(kept[index]) };
		},
		figures: [
			["Kept", grouped(kept.length), `stand for ${count(stood, "run")}`],
			["Coverage", percent(kept.at(-1)?.coverage ?? 0), "of what all runs cover"],
			["Other runs", grouped(dropped.length), "no kept run stands for them"],
		],
		notes: rows.length > DETAILED ? [...notes, `steps of the first ${DETAILED}`] : notes,
		coverage: kept.map(({ coverage }) => coverage),
		others: othersOf(dropped),
	});
}

module.exports = { DETAILED, keptPage, pageOf, settingsOf, stepsOf };
