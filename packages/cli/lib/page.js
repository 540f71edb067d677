/** The page of kp-score score --html: all runs, the best first. */
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
	score: ({ score }) => score,
	novelty: ({ dimensions }) => dimensions.novelty,
	date: timeOf,
	"active time": (row) => factOf("activeMs", row),
	tokens: tokensOf,
	"failed calls": (row) => factOf("failed", row),
	"refused calls": (row) => factOf("refused", row),
});

/** The reasons of the score of a row. `objectives` are those of all rows by id. */
function reasonsOf(row, profiles, objectives) {
	const account = explained(row, profiles);
	const reasons = partsOf(account).map(
		({ title, value, product, most, cause }) =>
			`${title}: ${[`${value.toFixed(3)} ${product}`, most, cause].filter(Boolean).join(", ")}`,
	);
	for (const name of row.overrides) reasons.push(`${name}: ${RULES[name]}`);
	const { id, nearest, similarity, source } = row;
	if (similarity !== null) {
		const objective = nearest === null ? undefined : objectives.get(nearest);
		reasons.push(`nearest: ${[nearest ?? "(no id)", objective].filter(Boolean).join(", ")}`);
	}
	return [...reasons, `${id ?? "(no id)"} · ${source.name}:${source.line}`];
}

/** Resolves to the page of rows as HTML, with `figures` and `notes` in its header. */
function pageOf(rows, { figures, notes, profiles }) {
	const { native } = require("@knowledgepulse/scoring/internal/native");
	const objectives = new Map(rows.map(({ id, objective }) => [id, objective]));
	const orders = ORDERS.filter(([, keyOf]) => rows.some((row) => keyOf(row) !== null));
	const runs = rows
		.toSorted((a, b) => b.score - a.score)
		.map((row) => ({
			keys: orders.map(([, keyOf]) => keyOf(row)),
			score: row.score.toFixed(3),
			title: row.objective,
			facts: factsOf(row),
			reasons: reasonsOf(row, profiles, objectives),
		}));
	const context = { title: "Scores of runs", settings: Object.entries(settingsOf()) };
	const names = orders.map(([name]) => name);
	const page = { context, nonce: randomUUID(), figures, notes, orders: names, runs };
	return native.runsPage(JSON.stringify(page));
}

module.exports = { pageOf, settingsOf };
