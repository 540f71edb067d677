import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { calibrate, calibrationReport } from "@knowledgepulse/scoring/calibrate";
import { launch, missing, open, violations } from "../support/browser.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { calibrationRows } from "../support/trace-files.mjs";

const OBJECTIVES = [
	"Find out why the scheduler test fails now and then",
	"</title><script>document.title = 'run'</script><img src=//example.org onerror=alert(1)>",
	"احجز رحلة إلى القاهرة يوم الثلاثاء\u202e abc",
	"把三月的账目与银行对账单核对，并列出所有不一致的条目",
	`Parse ${"Donaudampfschifffahrtsgesellschaft".repeat(8)}`,
	`Compare the ledgers ${"of March and of April ".repeat(60)}`,
	"",
];

const DOMAINS = { code: "code", finance: "customer_service", airline: "数据分析 & <b>" };

/** Rows with these objectives and domains, every tenth without an id. */
const labelled = calibrationRows.map((row, index) => ({
	...row,
	id: index % 10 === 9 ? null : row.id,
	domain: DOMAINS[row.domain],
	nearest: row.similarity === null ? null : calibrationRows[index >> 1].id,
	objective: OBJECTIVES[index % OBJECTIVES.length],
	tokens: 40 + ((index * 37) % 600),
}));

const plain = labelled.map(({ label, ...row }) => row);

const REPORTS = {
	full: { rows: labelled, options: { target: { share: 0.2 }, fit: true } },
	"without labels": { rows: plain, options: { target: { threshold: 0.75 } } },
	"of one row": { rows: plain.slice(2, 3), options: {} },
};

const VIEWS = [1280, 390].flatMap((width) =>
	["light", "dark"].map((scheme) => ({ width, scheme })),
);

/** The views of a report; for all but the full one, two views that cover each width and scheme. */
const viewsOf = (report) => (report === "full" ? VIEWS : [VIEWS[0], VIEWS[3]]);

const made = {};
const folder = temporaryFolder({ after });
let browser;

before(async () => {
	if (missing) return;
	for (const [name, { rows, options }] of Object.entries(REPORTS)) {
		const calibration = await calibrate(rows, options);
		const settings = { command: "kp-score calibrate runs.jsonl" };
		const html = await calibrationReport(calibration, rows, { settings });
		const file = join(folder, `${name}.html`);
		await writeFile(file, html);
		made[name] = { calibration, file };
	}
	browser = await launch();
});

after(() => browser?.close());

/** Tests `name` of a page, which is closed afterwards. */
function testPage(name, report, view, check) {
	test(name, { skip: missing }, async () => {
		const { page, events } = await open(browser, made[report].file, view);
		await check(page, events);
		await page.close();
	});
}

for (const report of Object.keys(REPORTS))
	for (const view of viewsOf(report))
		testPage(
			`calibrationReport ${report} is quiet, accessible and no wider than ${view.width} pixels, ${view.scheme}`,
			report,
			view,
			async (page, events) => {
				const [wide, title] = await page.evaluate(() => [
					document.documentElement.scrollWidth - window.innerWidth,
					document.title,
				]);
				assert.equal(wide, 0);
				assert.equal(title, "Calibration of scores");
				assert.deepEqual(await violations(page), []);
				assert.deepEqual(events, []);
			},
		);

for (const [report, { rows }] of Object.entries(REPORTS))
	testPage(
		`calibrationReport ${report} has all its text without JavaScript`,
		report,
		{ width: 1280, scheme: "light", script: false },
		async (page, events) => {
			const text = await page.evaluate(() => document.body.innerText);
			const { domains, examples, warnings } = made[report].calibration;
			const shown = Object.values(examples)
				.flat()
				.map((number) => rows[number - 1]);
			const texts = [
				...domains.map(({ domain }) => domain),
				...warnings.map(({ message }) => message.slice(1)),
				...shown.map(({ id }) => id ?? ""),
				// The beginning of a long text is shown.
				...shown.map(({ objective }) => objective.slice(0, 1000)),
			];
			for (const each of texts) assert.ok(text.includes(each), each);
			assert.deepEqual(events, []);
		},
	);

for (const report of Object.keys(REPORTS))
	testPage(
		`calibrationReport ${report} is printed on pages, alike in both colour schemes`,
		report,
		{ width: 1280, scheme: "dark" },
		async (page) => {
			const dark = await printed(page);
			const light = { name: "prefers-color-scheme", value: "light" };
			await page.emulateMediaFeatures([light]);
			assert.ok(dark === (await printed(page)), "the pages differ");
			const pages = dark.match(/\/Type \/Page\b/g).length;
			assert.ok(pages >= 2 && pages <= 20, `${pages} pages`);
		},
	);

/** A page as PDF, without the time. */
async function printed(page) {
	const pdf = await page.pdf({ format: "A4" });
	return Buffer.from(pdf)
		.toString("latin1")
		.replaceAll(/\/(Creation|Mod)Date \(.*?\)/g, "");
}
