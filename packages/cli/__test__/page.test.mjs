import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, missing, open, violations } from "../../../__test__/support/browser.mjs";
import { assertEnds, file, folder, linesOf, OFF, traceOf } from "./support.mjs";

const RUNS = 250;

/** The number of runs that a page shows at first. */
const FIRST = 200;

const HOSTILE = "</template></ol><script>document.title = 'run'</script><img src=//example.org>";

const objectiveOf = (n) => (n === 7 ? HOSTILE : `${n % 2 ? "Prune" : "Water"} rose ${n}`);

let browser;

before(async () => {
	const runs = Array.from({ length: RUNS }, (_, n) => {
		const metadata = { created_at: new Date(Date.UTC(2026, 0, 1 + n)).toISOString() };
		return traceOf(n, { metadata, objective: objectiveOf(n), confidence: (n % 100) / 100 });
	});
	file("roses.jsonl", linesOf(runs));
	file("few.jsonl", linesOf(runs.slice(0, 9)));
	for (const name of ["roses", "few"]) {
		const args = ["score", `${name}.jsonl`, "--html", `${name}.html`, ...OFF];
		const { stderr } = await assertEnds(0, args);
		assert.match(stderr, new RegExp(`^page: ${name}\\.html$`, "m"));
	}
	if (!missing) browser = await launch();
});

after(() => browser?.close());

/** Tests `name` of the page of `runs`, which is closed afterwards. */
function testPage(name, runs, view, check) {
	test(`kp-score score --html ${name}`, { skip: missing }, async () => {
		const { page, events } = await open(browser, join(folder, `${runs}.html`), view);
		await check(page);
		assert.equal(await page.title(), "Scores of runs");
		assert.deepEqual(events, []);
		await page.close();
	});
}

const WIDE = { width: 1280, scheme: "light" };

for (const [runs, view] of [
	["roses", WIDE],
	["few", { width: 390, scheme: "dark" }],
])
	testPage(
		`is quiet, accessible and no wider than ${view.width} pixels`,
		runs,
		view,
		async (page) => {
			await page.evaluate(() => document.querySelector("details").setAttribute("open", ""));
			const wide = () => document.documentElement.scrollWidth - window.innerWidth;
			assert.equal(await page.evaluate(wide), 0);
			assert.deepEqual(await violations(page), []);
		},
	);

/** The objectives of the runs that are shown, and how many there are, as the page says. */
const shownOn = (page) =>
	page.evaluate(() => [
		Array.from(document.querySelectorAll(".runs > li bdi"), ({ textContent }) => textContent),
		document.querySelector("output").value,
	]);

testPage(
	"searches and sorts all runs, of which it shows 200 at a time",
	"roses",
	WIDE,
	async (page) => {
		const best = Array.from({ length: RUNS }, (_, n) => n)
			.sort((a, b) => (b % 100) - (a % 100))
			.map(objectiveOf);
		assert.deepEqual(await shownOn(page), [best.slice(0, FIRST), `${RUNS} runs`]);
		await page.click(".more");
		assert.deepEqual((await shownOn(page))[0], best);
		await page.type("input", "WATER t:20");
		const found = best.filter((objective) => /^Water rose 20\d?$/.test(objective));
		assert.deepEqual(await shownOn(page), [found, `${found.length} of ${RUNS} runs`]);
		await page.select("select", "2");
		const latest = found.sort((a, b) => b.match(/\d+/) - a.match(/\d+/));
		assert.deepEqual((await shownOn(page))[0], latest);
	},
);

testPage(
	"shows the best runs without JavaScript",
	"roses",
	{ ...WIDE, script: false },
	async (page) => {
		const [shown] = await shownOn(page);
		assert.equal(shown.length, FIRST);
		const text = await page.evaluate(() => document.body.innerText);
		assert.match(text, /50 more need JavaScript/);
		assert.doesNotMatch(text, /Sort by/);
	},
);

test("kp-score score --html has the reasons of each score, and says what is assumed", async () => {
	file(
		"assumed.json",
		JSON.stringify([
			{ role: "user", content: "Hi" },
			{ role: "assistant", content: "Yes?" },
		]),
	);
	await assertEnds(0, ["score", "assumed.json", "few.jsonl", "--html", "all.html"]);
	const html = readFileSync(join(folder, "all.html"), "utf8");
	for (const part of [
		/<small>success assumed · 1 step · general<\/small>/,
		/<small>2026-01-09 · succeeded · 2 steps · code<\/small>/,
		/<li>novelty: 0\.\d+ × 0\.30 = 0\.\d+, up to \+0\.\d+, similarity 0\.\d+ to the nearest<\/li>/,
		/<li>nearest: t:\d, (Prune|Water) rose \d<\/li>/,
		/<p>Success assumed for 1 of 10 runs, whose logs do not say it \(--assume-success\)\.<\/p>/,
	])
		assert.match(html, part);
});
