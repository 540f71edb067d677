/** The page of kp-score select --html: the kept runs in their order, what each stands for, and the other runs. */
const { traceOf } = require("./account.js");
const { factsOf, nameOf } = require("./facts.js");
const { htmlOf, objectivesOf, ordersOf, reasonsOf, runOf, settingsOf } = require("./page.js");
const { count, grouped, percent } = require("./terminal.js");

/** How many steps of a run are shown, and how many characters of each. */
const STEPS = 40;
const CHARACTERS = 2000;

/** How many kept runs have their steps in the page: with those of thousands, no browser would open it. */
const DETAILED = 200;

/** The text of a step: of a call its input. */
function textOf({ content, input }) {
	const text = content || (input === undefined ? "" : JSON.stringify(input));
	const start = [...text.slice(0, 2 * CHARACTERS)].slice(0, CHARACTERS).join("");
	return start.length < text.length ? `${start}…` : text;
}

const shortened = (step) => ({ type: step.type, tool: step.tool?.name, text: textOf(step) });

/** The steps of a trace as {@link keptPage} takes them: `{ steps, more }`. */
const stepsOf = ({ steps }) => ({
	steps: steps.slice(0, STEPS).map(shortened),
	more: Math.max(steps.length - STEPS, 0),
});

const memberItem = ({ row, similarity }) => [similarity.toFixed(3), row.objective, nameOf(row)];

const stepItem = ({ type, tool, text }) => [tool ? `${type}, ${tool}` : type, text, ""];

/** The lists below a kept run: those that it stands for, and its steps. */
function listsOf({ members, steps = [], more = 0 }) {
	const first = more > 0 ? `the first ${steps.length} of ` : "";
	const lists = [
		{ name: `stands for ${count(members.length, "other run")}`, items: members.map(memberItem) },
		{ name: first + count(steps.length + more, "step"), items: steps.map(stepItem) },
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
 * standsFor, members, steps, more, reason }`, where `members` are `{ row, similarity }` of the other runs for which it
 * stands; `steps` and `more`, which the first 200 need, are from {@link stepsOf}. `dropped` are `{ row, reason }` of the
 * runs for which none stands.
 */
function keptPage({ kept, dropped, settings = settingsOf(), notes = [] }) {
	const all = [kept, kept.flatMap(({ members }) => members), dropped].flat();
	const objectives = objectivesOf(all.map(({ row }) => row));
	const rows = kept.map(({ row, standsFor }, index) => ({ ...row, kept: index, standsFor }));
	const orders = ordersOf(rows);
	const runs = rows.map((row, index) => {
		const { report, reason, coverage, ...run } = kept[index];
		const account = { trace: traceOf(row), provenance: row, report };
		const reasons = [reason, ...reasonsOf(row, account, objectives)].filter(Boolean);
		const stands = `stands for ${count(row.standsFor, "run")}, coverage ${percent(coverage)}`;
		const lists = listsOf(index < DETAILED ? run : { members: run.members });
		return { ...runOf(row, orders, reasons), facts: `${stands} · ${factsOf(row)}`, lists };
	});
	const stood = rows.reduce((sum, { standsFor }) => sum + standsFor, 0);
	return htmlOf({
		title: "Kept runs",
		settings,
		figures: [
			["Kept", grouped(kept.length), `stand for ${count(stood, "run")}`],
			["Coverage", percent(kept.at(-1)?.coverage ?? 0), "of what all runs cover"],
			["Other runs", grouped(dropped.length), "no kept run stands for them"],
		],
		notes: rows.length > DETAILED ? [...notes, `steps of the first ${DETAILED}`] : notes,
		orders,
		runs,
		coverage: kept.map(({ coverage }) => coverage),
		others: othersOf(dropped),
	});
}

module.exports = { DETAILED, keptPage, stepsOf };
