import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { scoreWith } from "@knowledgepulse/scoring";
import { launch, missing, open, violations } from "../../../__test__/support/browser.mjs";
import { keptPage, stepsOf } from "../lib/page.js";
import { assertEnds, file, folder, linesOf, OFF, parsed, rowsOf, traceOf } from "./support.mjs";

const HOSTILE =
	"</template></ol></script><script>document.title = 'run'</script><img src=//a.example>";

/** Ids that CSV must quote, none, and what a spreadsheet would compute; the others are `t:n`. */
const IDS = { 1: 'a "quoted", id', 2: " two\r\nlines ", 3: null, 5: "=1+1\u0085" };

const objectiveOf = (n) => (n % 5 === 0 ? `${HOSTILE} ${n}` : `Prune rose ${n}`);

/** Longer than what a page shows, at whose end is a character of two code units. */
const LONG = `${"x".repeat(1999)}😀 and more`;

const call = { type: "tool_call", tool: { name: "bash" }, input: { command: HOSTILE } };
const steps = [{ type: "thought", content: LONG }, ...Array(44).fill(call)];

let browser;

before(async () => {
	const traceAt = (_, n) => ({ ...traceOf(n, { objective: objectiveOf(n) }), steps });
	const traces = Array.from({ length: 20 }, traceAt);
	file("traces.jsonl", linesOf(traces));
	const rows = await rowsOf(["score", "traces.jsonl", ...OFF]);
	for (const [n, id] of Object.entries(IDS)) rows[n].id = id;
	const kept = rows.slice(0, 6).map((row, n) => ({
		row,
		report: scoreWith(traces[n], { maxSimilarity: null }),
		coverage: (n + 1) / 10,
		standsFor: n === 0 ? 11 : 1,
		members: n === 0 ? rows.slice(10).map((row) => ({ row, similarity: 0.875 })) : [],
		...stepsOf(traces[n]),
	}));
	const dropped = rows.slice(6, 10).map((row, n) => ({ row, reason: ["failed", HOSTILE][n % 2] }));
	file("kept.html", await keptPage({ kept, dropped }));
	if (!missing) browser = await launch();
});

after(() => browser?.close());

/** Tests `name` of the page, which must ask for nothing, and is closed afterwards. */
function testPage(name, view, check) {
	test(`keptPage ${name}`, { skip: missing }, async () => {
		const { page, events } = await open(browser, join(folder, "kept.html"), view);
		await check(page, async (keys) => {
			for (const key of keys) await page.keyboard.press(key);
		});
		assert.equal(await page.title(), "Kept runs");
		assert.deepEqual(events, []);
		await page.close();
	});
}

const WIDE = { width: 1280, scheme: "light" };

/** What is written in the elements of a selector. */
const textsOf = (page, selector) =>
	page.$$eval(selector, (found) => found.map(({ textContent }) => textContent.trim()));

for (const view of [WIDE, { width: 1280, scheme: "dark" }, { width: 360, scheme: "dark" }]) {
	const name = `is quiet, accessible and no wider than ${view.width} pixels, ${view.scheme}`;
	testPage(name, view, async (page, press) => {
		await press("jkd");
		await page.$$eval("details", (all) => {
			for (const each of all) each.open = true;
		});
		const wide = () => document.documentElement.scrollWidth - window.innerWidth;
		assert.equal(await page.evaluate(wide), 0);
		assert.deepEqual(await violations(page), []);
	});
}

testPage("has all its text without JavaScript", { ...WIDE, script: false }, async (page) => {
	const titles = await textsOf(page, "ol > li > details > summary bdi");
	assert.deepEqual(titles, [0, 1, 2, 3, 4, 5].map(objectiveOf));
	const [first, second] = await textsOf(page, "ol > li > details > summary small");
	assert.match(first, /^stands for 11 runs, coverage 10\.0 % · .* · 45 steps · code$/);
	assert.match(second, /^stands for 1 run, coverage 20\.0 % · /);
	const names = await textsOf(page, "li:first-child .list summary");
	assert.deepEqual(names, ["stands for 10 other runs", "the first 40 of 45 steps"]);
	const items = await textsOf(page, "li:first-child .list li");
	assert.equal(items.length, 50);
	assert.match(items[1], /^0\.875 Prune rose 11\s+t:11$/);
	assert.equal(items[10], `thought ${LONG.slice(0, 2001)}…`);
	assert.equal(items[11], `tool_call, bash ${JSON.stringify({ command: HOSTILE })}`);
	const others = await textsOf(page, "div > .list summary");
	assert.deepEqual(others, ["failed: 2 runs", `${HOSTILE}: 2 runs`]);
	const curve = await page.$eval("svg", (svg) => svg.getAttribute("aria-label"));
	assert.equal(curve, "Coverage. 6 runs cover 60.0\u00a0%; half of that, the first 3.");
	assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /Keep|Save|Search/);
});

/** What the page saves. */
async function savedBy(page) {
	const session = await browser.target().createCDPSession();
	const settings = { behavior: "allow", downloadPath: folder, eventsEnabled: true };
	await session.send("Browser.setDownloadBehavior", settings);
	const saved = new Promise((resolve) => {
		session.on("Browser.downloadProgress", ({ state }) => state === "completed" && resolve());
	});
	await page.click(".review button");
	await saved;
	return readFileSync(join(folder, "labels.csv"), "utf8");
}

testPage(
	"takes decisions by keys and buttons, and saves them as CSV",
	WIDE,
	async (page, press) => {
		const assertState = async (count, ...pressed) => {
			assert.equal(await page.$eval("[aria-live]", ({ value }) => value), count);
			assert.deepEqual(await textsOf(page, '[aria-pressed="true"]'), pressed);
		};
		await assertState("0 keep, 0 drop of 6");
		// The first key only goes to the first run; the fourth run has no id.
		await press("kkdnd");
		await assertState("1 keep, 1 drop of 6", "Keep", "Drop");
		await press("pppk");
		await assertState("2 keep, 0 drop of 6", "Keep", "Keep");
		await press("u");
		await assertState("1 keep, 1 drop of 6", "Keep", "Drop");
		for (const place of [3, 5, 5, 6]) await page.click(`li:nth-child(${place}) [value="0"]`);
		const disabled = await page.$$eval("[aria-pressed]:disabled", (all) => all.map((b) => b.title));
		assert.deepEqual(disabled, Array(2).fill("A run without an id cannot be labelled"));
		await page.type("[type=search]", "kdu");
		await assertState("1 keep, 3 drop of 6");
		const asked = once(page, "dialog");
		await page.close({ runBeforeUnload: true });
		const [dialog] = await asked;
		assert.equal(dialog.type(), "beforeunload");
		await dialog.dismiss();
		const decided = ["t:0,1", '"a ""quoted"", id",0', '" two\r\nlines ",0'];
		const lines = ["id,label", ...decided, "t:4,", "kp:trace:=1+1\u0085,0", ""];
		assert.equal(await savedBy(page), lines.join("\r\n"));
		// HTML forbids other control characters.
		assert.doesNotMatch(readFileSync(join(folder, "kept.html"), "utf8"), /(?![\n\t])\p{Cc}/u);
	},
);

test("kp-score select --html makes a page whose labels it takes", { skip: missing }, async () => {
	const args = ["select", "traces.jsonl", "--novelty", "words", "--count", "3"];
	await assertEnds(0, [...args, "--html", "review.html"]);
	const { page } = await open(browser, join(folder, "review.html"), WIDE);
	for (const key of "kkd") await page.keyboard.press(key);
	const [[keep], [drop]] = (await savedBy(page))
		.split("\r\n")
		.slice(1, 3)
		.map((line) => line.split(","))
		.toSorted(([, a], [, b]) => b - a);
	await page.close();
	const labelled = [...args, "--labels", "labels.csv", "--success", "--dropped", "dropped.jsonl"];
	const rows = await rowsOf(labelled);
	assert.ok(rows.every(({ id }) => id !== drop));
	const kept = await rowsOf([...args, "--labels", "labels.csv"]);
	const of = (id) => kept.find((row) => row.id === id)?.success;
	assert.notEqual(of(keep), false);
	const { id, reason } = parsed(readFileSync(join(folder, "dropped.jsonl"), "utf8")).find(
		({ id }) => id === drop,
	);
	assert.deepEqual([id, reason], [drop, "failed"]);
});
