import assert from "node:assert/strict";
import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
	assertEnds,
	environment,
	file,
	folder,
	idsOf,
	linesOf,
	OFF,
	parsed,
	rowsOf,
	traceOf,
} from "./support.mjs";

/** A session of Claude Code with a call in a project; `result` is that of the call. */
function sessionOf(project, day, result) {
	const record = (step, role, content) => ({
		type: role,
		uuid: `${day}-${step}`,
		parentUuid: step > 0 ? `${day}-${step - 1}` : null,
		sessionId: `session-${day}`,
		timestamp: `2026-02-0${day}T12:0${2 * step}:00.000Z`,
		cwd: `/home/me/${project}`,
		message: { role, content, ...(role === "assistant" && { id: `${day}-${step}`, usage }) },
	});
	const usage = { input_tokens: 100, output_tokens: 400, cache_read_input_tokens: 9_000_000 };
	const call = { type: "tool_use", id: `call-${day}`, name: "Read", input: {} };
	const answer = { type: "tool_result", tool_use_id: call.id, ...result };
	return [
		record(0, "user", `Water the roses on day ${day}`),
		record(1, "assistant", [call]),
		record(2, "user", [answer]),
		record(3, "assistant", [{ type: "text", text: "The roses are wet." }]),
	];
}

const REFUSED = "The user doesn't want to proceed with this tool use.";

for (const [day, project, result] of [
	[1, "shop", { content: "ok" }],
	[2, "garden", { content: "no water", is_error: true }],
	[3, "shop", { content: REFUSED, is_error: true }],
])
	file(`days/${day}.jsonl`, linesOf(sessionOf(project, day, result)));
// A trace of the protocol has no facts. Without a time it is as old as its file.
const undated = file(
	"days/trace.jsonl",
	linesOf([traceOf(1, { metadata: { created_at: undefined } })]),
);
utimesSync(undated, 0, new Date("2025-06-01T00:00:00Z"));

const DAYS = ["score", "days", ...OFF];

const dayOf = ({ objective }) => Number(objective.match(/\d/));

for (const [options, days] of [
	[[], [1, 2, 3, 1]],
	[
		["--since", "2026-02-02"],
		[2, 3],
	],
	[
		["--until", "2026-02-02"],
		[1, 2, 1],
	],
	[
		["--since", "2025-06-01"],
		[1, 2, 3, 1],
	],
	[["--since", "2026-02-02T12:00:00Z", "--until", "2026-02-03T12:00Z"], [2]],
	[
		["--project", "shop"],
		[1, 3],
	],
	[["--project", "home"], []],
])
	test(`kp-score score ${options.join(" ")} has the runs of the days ${days}`, async () => {
		const all = await rowsOf(DAYS);
		const { stdout, stderr } = await assertEnds(0, [...DAYS, ...options]);
		const rows = parsed(stdout);
		assert.deepEqual(rows.map(dayOf).sort(), days.toSorted());
		for (const row of rows)
			assert.deepEqual(
				row,
				all.find(({ id }) => id === row.id),
			);
		const selected = days.length < all.length ? `, ${days.length} selected` : "";
		assert.match(stderr, new RegExp(`^4 traces in .* m?s${selected}(: median|$)`, "m"));
		const isTimed = /since|until/.test(options);
		assert.equal(/took the time of the file for 1 run without one$/m.test(stderr), isTimed);
		const missing = /no run is selected of the project home; there are shop, garden$/m;
		assert.equal(missing.test(stderr), days.length === 0);
	});

test("kp-score score --since takes a time without a zone as UTC", async () => {
	const latest = (await rowsOf(DAYS)).find((row) => dayOf(row) === 3 && row.facts);
	const args = [...DAYS, "--since", latest.createdAt.slice(0, 19)];
	assert.equal((await idsOf(args, { env: { ...environment, TZ: "Etc/GMT+5" } }))[0], latest.id);
});

for (const text of ["yesterday", "2026-02-30", "2026"])
	test(`kp-score score --since refuses ${text}`, async () => {
		const { stderr } = await assertEnds(2, [...DAYS, "--since", text]);
		assert.match(
			stderr,
			/Expected a day such as 2026-01-31, days ago such as 7d, or an ISO 8601 time\./,
		);
	});

test("kp-score score --facts shows facts in place of the dimensions, and dashes for unknown ones", async () => {
	const { stdout, stderr } = await assertEnds(0, [...DAYS, "--facts", "--table"]);
	const [head, ...lines] = stdout.trimEnd().split("\n");
	assert.match(head, /^score {2}project {5}date {8}active {2}tokens {2}failed {2}refused {2}id /);
	const shown = lines.map((line) => line.slice(7, 62).trim().split(/ {2,}/));
	const dashes = Array(6).fill("–");
	assert.deepEqual(shown.sort(), [
		["garden", "2026-02-02", "6 min", "1.0k", "1", "0"],
		["shop", "2026-02-01", "6 min", "1.0k", "0", "0"],
		["shop", "2026-02-03", "6 min", "1.0k", "0", "1"],
		dashes,
	]);
	assert.match(stderr, /^active without pauses of more than 10 minutes · /m);
});

test("kp-score score --by week has a line for each week, and --exclude-project leaves projects out", async () => {
	const weeks = await rowsOf([...DAYS, "--by", "week"]);
	// Mondays; the first of February was a Sunday.
	assert.deepEqual(
		weeks.map(({ week, runs }) => [week, runs]),
		[
			[null, 1],
			["2026-01-26", 1],
			["2026-02-02", 2],
		],
	);
	const others = await rowsOf([...DAYS, "--exclude-project", "shop", "--exclude-project", "no"]);
	assert.deepEqual(others.map(({ facts }) => facts?.cwd ?? null).sort(), ["/home/me/garden", null]);
	const { stdout } = await assertEnds(0, [...DAYS, "--by", "week", "--table"]);
	assert.match(stdout, /^week +runs /);
});

test("kp-score score --by project sums up the runs of each project", async () => {
	const rows = await rowsOf(DAYS);
	const args = [...DAYS, "--by", "project", "--threshold", "0"];
	const scoresIn = (project) =>
		rows
			.filter(({ facts }) => facts?.cwd === project)
			.map(({ score }) => score)
			.sort();
	const expected = [
		["shop", { activeMs: 720_000, tokens: 2000, calls: 2, failed: 0, refused: 1 }],
		["garden", { activeMs: 360_000, tokens: 1000, calls: 1, failed: 1, refused: 0 }],
		[null, { activeMs: null, tokens: null, calls: null, failed: null, refused: null }],
	].map(([project, sums]) => {
		const scores = scoresIn(project === null ? undefined : `/home/me/${project}`);
		const [median, highest] = [scores[0], scores.at(-1)];
		return { project, runs: scores.length, median, highest, accepted: scores.length, ...sums };
	});
	const found = await rowsOf(args);
	assert.deepEqual(
		found.sort((a, b) => b.runs - a.runs || (a.project ? -1 : 1)),
		expected,
	);
	const { stdout } = await assertEnds(0, [...args, "--table"]);
	assert.match(stdout, /^shop +2 .* 12 min +2\.0k +2 +0 +1$/m);
});

test("kp-score score --html has the facts of each run", async () => {
	await assertEnds(0, [...DAYS, "--html", "days.html", "--project", "shop"]);
	const html = readFileSync(join(folder, "days.html"), "utf8");
	const fact =
		"shop · 2026-02-03 · active 6 min 0 s · 1,000 tokens · 0 of 1 call failed · 1 refused";
	assert.ok(html.includes(`<small>${fact} · success assumed · 3 steps · code</small>`), html);
	assert.doesNotMatch(html, /garden/);
	assert.match(html, /kp:trace:[\da-f-]+ · session-3 · days\/3\.jsonl:1/);
	const orders = html.match(/(?<=<option[^>]*>)[^<]+/g);
	assert.deepEqual(orders.slice(2), [
		"date",
		"active time",
		"tokens",
		"failed calls",
		"refused calls",
	]);
});
