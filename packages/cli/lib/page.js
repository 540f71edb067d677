/** Pages of runs; that of kp-score score --html has all runs, the best first. */
const { randomUUID } = require("node:crypto");
const { version } = require("../package.json");
const { RULES, explained, partsOf } = require("./account.js");
const { factOf, factsOf, timeOf, tokensOf } = require("./facts.js");
const { masked } = require("./terminal.js");

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

/** The orders in which rows can be put. */
const ordersOf = (rows) => ORDERS.filter(([, keyOf]) => rows.some((row) => keyOf(row) !== null));

const objectivesOf = (rows) => new Map(rows.map(({ id, objective }) => [id, objective]));

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

/** A row as pages have it. */
const runOf = (row, orders, reasons) => ({
	keys: orders.map(([, keyOf]) => keyOf(row)),
	id: row.id,
	score: row.score.toFixed(3),
	title: row.objective,
	facts: factsOf(row),
	reasons,
});

/** Lone surrogates cannot be written. */
const wellFormed = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);

/** Resolves to a page as HTML. */
function htmlOf({ title, settings, orders, ...page }) {
	const { native } = require("@knowledgepulse/scoring/internal/native");
	const context = { title, settings: Object.entries(settings) };
	const names = orders.map(([name]) => name);
	const whole = { context, nonce: randomUUID(), orders: names, ...page };
	return native.runsPage(JSON.stringify(whole, wellFormed));
}

/** Resolves to the page of rows as HTML, with `figures` and `notes` in its header. */
function pageOf(rows, { figures, notes, profiles }) {
	const objectives = objectivesOf(rows);
	const orders = ordersOf(rows);
	const runs = rows
		.toSorted((a, b) => b.score - a.score)
		.map((row) => runOf(row, orders, reasonsOf(row, explained(row, profiles), objectives)));
	return htmlOf({ title: "Scores of runs", settings: settingsOf(), figures, notes, orders, runs });
}

module.exports = { htmlOf, objectivesOf, ordersOf, pageOf, reasonsOf, runOf, settingsOf };
