import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { words } from "../../../__test__/support/traces.mjs";
import { assertEnds, file, folder, idsOf, linesOf, parsed, rowsOf, traceOf } from "./support.mjs";

/** Runs of three tasks, each done twice; `t:n` and `t:n+3` are alike. The second run of each is known to have failed. */
const TASKS = ["Prune the roses in March", "Repair the roof of the shed", "Pay the bill for water"];

const runOf = (n, metadata = {}) =>
	traceOf(n, { objective: TASKS[n % 3], metadata: { success: n < 3, ...metadata } });

for (const [name, ...runs] of [
	["a/one", 0, 1],
	["a/deep/two", 2],
	["b/one", 3, 4],
	["b/two", 5],
])
	file(`runs/${name}.jsonl`, linesOf(runs.map((n) => runOf(n))));
file("runs/a/notes.json", '{"no": "log"}');

/** A session of Claude Code. */
const sessionOf = (sessionId, content, more = {}) =>
	["user", "assistant"].map((role, n) => ({
		...{
			type: role,
			uuid: `${sessionId}-${n}`,
			parentUuid: n ? `${sessionId}-0` : null,
			sessionId,
		},
		timestamp: "2026-02-01T00:00:00.000Z",
		message: { role, content },
		...more,
	}));

const SELECT = ["select", "runs", "--novelty", "words"];

const read = (name) => parsed(readFileSync(join(folder, name), "utf8"));

/** The logs in a folder and its subfolders. */
const logsIn = (name) =>
	readdirSync(join(folder, name), { recursive: true })
		.filter((path) => path.endsWith(".jsonl"))
		.map((path) => path.replaceAll("\\", "/"))
		.sort();

test("kp-score select keeps a run of each task, and says what it stands for", async () => {
	const rows = await rowsOf([...SELECT, "--count", "3"]);
	// Those that have not failed stand better for others.
	assert.deepEqual(rows.map(({ id }) => id).sort(), ["t:0", "t:1", "t:2"]);
	assert.deepEqual(
		rows.map(({ standsFor }) => standsFor),
		[2, 2, 2],
	);
	const coverages = rows.map(({ coverage }) => coverage);
	assert.deepEqual(
		coverages,
		coverages.toSorted((a, b) => a - b),
	);
	assert.deepEqual([rows[0].nearest, rows[0].dimensions.novelty], [null, 0.5]);
	// Every row can be explained.
	file("kept-rows.jsonl", linesOf(rows));
	const { stdout } = await assertEnds(0, ["explain", "kept-rows.jsonl", "--table"]);
	assert.equal(stdout.match(/^0\.\d{3} {2}t:/gm).length, 3);
	const table = await assertEnds(0, [...SELECT, "--count", "2", "--table"]);
	assert.match(table.stdout, /^ ?score {2}cover {4}for .*\n(?:0\.\d{3} +\d+% +\d .*\n){2}$/);
});

test("kp-score select --coverage ends at the first run that reaches it", async () => {
	const all = await rowsOf([...SELECT, "--count", "6"]);
	const first = await idsOf([...SELECT, "--coverage", String(all[1].coverage)]);
	assert.deepEqual(
		first,
		all.slice(0, 2).map(({ id }) => id),
	);
});

test("kp-score select -o writes what is shown, and --copy the logs, which are no sources again", async () => {
	const args = [...SELECT, "--count", "3"];
	const ids = await idsOf(args);
	const to = join("runs", "deep");
	const options = ["-o", "kept.jsonl", "--copy", to];
	for (let times = 0; times < 2; times++) {
		const { stdout, stderr } = await assertEnds(0, [...args, ...options]);
		assert.deepEqual(
			parsed(stdout).map(({ id }) => id),
			ids,
		);
		assert.deepEqual(
			read("kept.jsonl").map(({ metadata: { covers, ...metadata }, ...trace }) => ({
				...trace,
				metadata: { ...metadata, covers: covers > 1.5 && covers <= 2 },
			})),
			ids.map((id) => runOf(Number(id.slice(2)), { stands_for: 2, covers: true })),
		);
		assert.deepEqual(logsIn(to), ["deep/two.jsonl", "one.jsonl"]);
		assert.match(stderr, /^3 runs of 6 traces: coverage \d+\.\d %$/m);
		assert.match(stderr, /^traces: kept\.jsonl\n2 logs copied to runs.deep$/m);
	}
	rmSync(join(folder, to), { recursive: true });
});

test("kp-score select takes what parts have kept, and adds up what they stand for", async () => {
	const parts = ["a", "b"].map((part) => {
		const runs = Array.from({ length: 60 }, (_, n) => runOf(n % 7, { success: true }));
		file(`${part}.jsonl`, linesOf(runs.map((run, n) => ({ ...run, id: `${part}:${n}` }))));
		return `${part}.jsonl`;
	});
	const keeping = (part, count) => [
		"select",
		part,
		"--novelty",
		"words",
		"--quiet",
		"--count",
		count,
	];
	for (const part of parts) await assertEnds(0, [...keeping(part, "3"), "-o", `kept-${part}`]);
	const args = ["select", "kept-a.jsonl", "kept-b.jsonl", "--novelty", "words", "--count", "3"];
	const { stdout, stderr } = await assertEnds(0, [...args, "-o", "twice.jsonl", "--json"]);
	assert.deepEqual(
		parsed(stdout).map(({ standsFor }) => standsFor),
		read("twice.jsonl").map(({ metadata }) => metadata.stands_for),
	);
	const sum = parsed(stdout).reduce((sum, { standsFor }) => sum + standsFor, 0);
	assert.equal(sum, 120);
	assert.match(stderr, /^3 runs of 6 traces: coverage 100\.0 %, they stand for 120 of 120$/m);
	await assertEnds(0, [...keeping("kept-a.jsonl", "2"), "--dropped", "rest"]);
	assert.ok(read("rest")[0].standsFor > 1);
});

test("kp-score select reads every run once, also from standard input", async () => {
	const input = linesOf([0, 1, 0, 2].map((n) => runOf(n)));
	const args = ["select", "-", "--novelty", "words", "--count", "9", "-o", "streamed.jsonl"];
	const { stderr } = await assertEnds(0, [...args, "--dropped", "dropped.jsonl"], { input });
	assert.equal(read("streamed.jsonl").length, 3);
	assert.match(stderr, /^not considered: repeated 1$/m);
	assert.deepEqual(
		read("dropped.jsonl").map(({ id, reason }) => [id, reason]),
		[["t:0", "repeated: an earlier run has its id"]],
	);
	const copied = await assertEnds(2, ["select", "-", "--count", "1", "--copy", "x"], { input });
	assert.match(copied.stderr, /--copy needs files/);
});

test("kp-score select --dropped has the run that stands for each, or the reason", async () => {
	const input = linesOf([0, 0, 1].map((n) => ({ ...runOf(n), id: undefined })));
	const unnamed = ["-", "--novelty", "words", "--count", "2", "--dropped", "unnamed.jsonl"];
	await assertEnds(0, ["select", ...unnamed], { input });
	assert.deepEqual(
		read("unnamed.jsonl").map(({ by }) => by),
		["stdin:1"],
	);
	await assertEnds(0, [...SELECT, "--count", "1", "--dropped", "dropped.jsonl", "--success"]);
	const reasons = new Map(read("dropped.jsonl").map((row) => [row.id, row]));
	assert.deepEqual(
		["t:3", "t:4", "t:5"].map((id) => reasons.get(id).reason),
		["failed", "failed", "failed"],
	);
	await assertEnds(0, [...SELECT, "--count", "3", "--dropped", "dropped.jsonl"]);
	for (const { id, by, reason, similarity } of read("dropped.jsonl")) {
		assert.equal(Number(by.slice(2)), Number(id.slice(2)) - 3);
		assert.equal(reason, "another run stands for it");
		assert.ok(similarity > 0.8 && similarity <= 1);
	}
});

test("kp-score select takes outcomes from labels, and keeps an assumed success an assumed one", async () => {
	const chat = [
		{ role: "user", content: "Water the garden" },
		{ role: "assistant", content: "It is watered." },
	];
	file("chat.json", JSON.stringify(chat));
	const args = ["select", "chat.json", "--novelty", "words", "--count", "1"];
	const [{ id, successFrom }] = await rowsOf(args);
	assert.equal(successFrom, "assumed");
	await assertEnds(0, [...args, "-o", "assumed.jsonl"]);
	assert.equal(read("assumed.jsonl")[0].metadata.success_from, "assumed");
	const again = await rowsOf(["score", "assumed.jsonl", "--embedder", "off"]);
	assert.equal(again[0].successFrom, "assumed");
	const unknown = await assertEnds(0, [...args, "--success"]);
	assert.equal(unknown.stdout, "");
	assert.match(unknown.stderr, /^0 runs of 1 trace: coverage 0\.0 % of the 0 considered$/m);
	assert.match(unknown.stderr, /^not considered: success unknown 1$/m);
	for (const [name, text] of [
		["labels.csv", `id,label,task\n${id},1,garden\nother,0,shed\n`],
		["labels.jsonl", `{"id":"${id}","success":true}\n{"id":"other","success":0}\n`],
	]) {
		file(name, text);
		const { stdout, stderr } = await assertEnds(0, [...args, "--success", "--labels", name]);
		assert.equal(parsed(stdout)[0].successFrom, "option");
		assert.match(stderr, /1 label without a run/);
		const [scored] = await rowsOf(["score", "chat.json", "--embedder", "off", "--labels", name]);
		assert.deepEqual([scored.success, scored.successFrom], [true, "option"]);
	}
	await assertEnds(0, ["import", "chat.json", "--labels", "labels.csv", "-o", "labelled.jsonl"]);
	assert.equal(read("labelled.jsonl")[0].metadata.success, true);
});

test("kp-score takes labels in the forms that spreadsheets write, for the ids of traces and logs", async () => {
	file("labelled/own.jsonl", linesOf([runOf(8), runOf(9), { ...runOf(7), id: "kp:trace:7" }]));
	file("labelled/session.jsonl", linesOf(sessionOf("session-7", "Prune the hedge")));
	const text = "id,label,part\nt:8,1,x\nt:9,,y\n7,0.0,x\nsession-7,No,y\n,,\n";
	const expected = { "t:8": true, "t:9": undefined, "kp:trace:7": false, "session-7": false };
	const succeeded = async (...args) => {
		const rows = await rowsOf(["score", "labelled", ...args, "--embedder", "off"]);
		const outcome = ({ success, successFrom }) => (successFrom === "option" ? success : undefined);
		return Object.fromEntries(rows.map((row) => [row.key, outcome(row)]));
	};
	const forms = {
		csv: text,
		"semicolons.csv": `sep=;\r\n${text.replaceAll(",", ";").replaceAll("\n", "\r\n")}`,
		tsv: text.replaceAll(",", "\t"),
		"utf16.csv": Buffer.from(`\ufeff${text}`, "utf16le"),
		"csv.gz": gzipSync(text),
		"bom.csv": `\ufeff${text.replace("id,label", '"ID", "Label"')}`,
		jsonl:
			'{"Id":"t:8","label":1}\n{"id":"t:9","label":null}\n{"id":7,"success":"0"}\n{"id":"session-7","label":0}',
	};
	for (const [name, content] of Object.entries(forms)) {
		const path = file(`forms.${name}`, content);
		assert.deepEqual(await succeeded("--labels", path), expected, name);
	}
	file("later.csv", "id,label\nt:9,1\nt:8,0\n");
	const both = await succeeded("--labels", "forms.csv", "--labels", "later.csv");
	assert.deepEqual(both, { ...expected, "t:8": false, "t:9": true });
	const messages = ["--as", "messages", "--no-redact", "--labels", "forms.csv"];
	const [{ metadata }] = await rowsOf(["import", "labelled/session.jsonl", ...messages]);
	assert.deepEqual([metadata.key, metadata.success], ["session-7", false]);
	const labels = ["--labels", "forms.csv", "--embedder", "off"];
	const scored = await rowsOf(["score", "labelled", ...labels]);
	file("scored.jsonl", linesOf(scored));
	const explained = await rowsOf(["explain", "labelled", ...labels]);
	assert.deepEqual(
		explained.map(({ report }) => report.score),
		scored.map(({ score }) => score),
	);
	for (const { change } of await rowsOf(["compare", "scored.jsonl", "labelled", ...labels]))
		assert.equal(change, 0);
	for (const [content, message] of [
		["id,label\nt:8,1\nt:8,0\n", /wrong\.csv:3: t:8 has two labels/],
		["id,label\nt:8,1,x\n", /wrong\.csv:2: Invalid Record Length/],
		["id,label\n,1\n", /wrong\.csv:2: expected an id, found nothing/],
		["id,label\nt:8,passed\n", /wrong\.csv:2: expected 1, 0 or nothing, found "passed"/],
		["name,label\nt:8,1\n", /wrong\.csv:2: expected the columns id and label or success/],
		["id,label\nt:8,\n", /wrong\.csv: no labels in it/],
		['{"id":"t:8","label":1}\n{"id', /wrong\.csv:2: /],
		["id,label\nt:1,1\n", /no label has the id of a run, such as that of "t:1"/],
	]) {
		file("wrong.csv", content);
		for (const [command, ...options] of [
			["score", "--embedder", "off"],
			["select", "--novelty", "words", "--count", "1"],
			["explain", "--embedder", "off"],
			["import", "--assume-success", "true"],
			["calibrate", "--assume-success", "true", "--embedder", "off"],
		]) {
			const args = [command, "labelled", "--labels", "wrong.csv", ...options];
			assert.match((await assertEnds(2, args)).stderr, message, command);
		}
	}
	// Runs that are left out are not missing.
	for (let times = 0; times < 2; times++) {
		const args = ["score", "labelled", ...labels, "--memory", "labelled.kpcache"];
		assert.doesNotMatch((await assertEnds(0, args)).stderr, /without a run/);
	}
});

test("kp-score select --per-group keeps at most so many runs of a group", async () => {
	const grouped = [0, 3, 1, 4, 2, 5].map((n) =>
		runOf(n, { team: n < 3 ? "x" : "y", success: true }),
	);
	file("grouped.jsonl", linesOf(grouped));
	const labels = grouped.map(({ id }, at) => `${id},1,${at < 4 ? "a" : "b"}\n`).join("");
	file("groups.csv", `id,success,part\n${labels}`);
	const args = [
		"select",
		"grouped.jsonl",
		"--novelty",
		"words",
		"--count",
		"6",
		"--per-group",
		"1",
	];
	const byPointer = await idsOf([...args, "--group", "/metadata/team"]);
	assert.deepEqual(byPointer.map((id) => Number(id.slice(2)) < 3).sort(), [false, true]);
	assert.equal((await idsOf([...args, "--group", "part", "--labels", "groups.csv"])).length, 2);
	const session = (n, cwd) => sessionOf(`session-${n}`, `Task ${TASKS[n]}`, { cwd });
	for (const [n, cwd] of ["/a/app", "/b/app", "/a/app"].entries())
		file(`projects/${n}.jsonl`, linesOf(session(n, cwd)));
	const projects = await rowsOf([...args.with(1, "projects")]);
	assert.deepEqual(projects.map(({ group }) => group).sort(), ["/a/app", "/b/app"]);
	for (const [more, message] of [
		[["--group", "no"], /--group no: expected a JSON pointer, or a column of --labels/],
		[["--labels", "groups.csv"], /needs --group: which column/],
	])
		assert.match((await assertEnds(2, [...args, ...more])).stderr, message);
});

test("kp-score select warns if it passes over runs whose objectives are rare", async () => {
	// Each of three tasks is done in two ways, three times; six others are done once.
	const runs = Array.from({ length: 24 }, (_, n) => ({
		...traceOf(n, { objective: n < 18 ? TASKS[n % 3] : `Task ${n}` }),
		steps: [{ type: "thought", content: words(40, n < 18 ? n % 6 : n) }],
	}));
	const saidOf = async (...more) => {
		const args = ["select", "rare.jsonl", "--novelty", "words", "--count", "6", ...more];
		const { stdout, stderr } = await assertEnds(0, args);
		const found = new Set(parsed(stdout).map(({ objective }) => objective)).size;
		return [found, /^warning: the kept runs have .*/m.exec(stderr)?.[0]];
	};
	file("rare.jsonl", linesOf(runs));
	const [found, warning] = await saidOf();
	assert.equal(
		warning,
		`warning: the kept runs have ${found} of 9 objectives, of which 6 were run once and others up to 6 times: --per-group 1 --group /task/objective keeps one of each`,
	);
	const mended = await saidOf("--per-group", "1", "--group", "/task/objective");
	assert.deepEqual(mended, [6, undefined]);
	file("rare.jsonl", linesOf(runs.slice(0, 18)));
	assert.equal((await saidOf())[1], undefined);
});

test("kp-score select --against and --memory keep only what earlier sets do not cover", async () => {
	const one = ["select", "runs/a/one.jsonl", "--novelty", "words", "--count", "9"];
	await assertEnds(0, [...one, "-o", "earlier.jsonl"]);
	file("earlier-rows.jsonl", linesOf(await rowsOf(one)));
	for (const earlier of ["earlier.jsonl", "earlier-rows.jsonl"]) {
		const ids = await idsOf([...SELECT, "--count", "1", "--against", earlier]);
		assert.deepEqual(ids, ["t:2"], earlier);
	}
	const others = [
		...SELECT.with(1, "chat.json"),
		"--count",
		"1",
		"--against",
		"earlier-rows.jsonl",
	];
	const { stderr } = await assertEnds(0, others);
	assert.match(stderr, /^warning: 2 rows of earlier-rows\.jsonl without a run in the sources/m);
	rmSync(join(folder, "kept.kpcache"), { force: true });
	const remembering = [...SELECT, "--memory", "kept.kpcache", "--count", "2"];
	// What is only shown is not kept yet.
	const shown = [];
	for (let times = 0; times < 2; times++) shown.push((await assertEnds(0, remembering)).stdout);
	assert.equal(shown[0], shown[1]);
	assert.equal(existsSync(join(folder, "kept.kpcache")), false);
	const kept = [];
	for (let week = 0; week < 4; week++) {
		const before = await idsOf(remembering);
		assert.deepEqual(await idsOf([...remembering, "-o", "week.jsonl"]), before);
		kept.push(...before);
	}
	assert.equal(new Set(kept).size, kept.length, "nothing twice");
	assert.deepEqual(kept.slice(0, 3).toSorted(), ["t:0", "t:1", "t:2"]);
});

test("kp-score --as messages ends with an answer, and names the tools of its calls", async () => {
	const call = (id, name) => ({ id, type: "function", function: { name, arguments: '{"a":1}' } });
	const asked = { role: "user", content: "Water the garden" };
	const calling = { role: "assistant", tool_calls: [call("1", "hose"), call("2", "can")] };
	const results = ["1", "2"].map((id) => ({ role: "tool", tool_call_id: id, content: "wet" }));
	const answer = { role: "assistant", content: "It is watered." };
	const thanks = { role: "user", content: "Thanks" };
	const chats = {
		"1.json": [asked, answer, thanks],
		"2.json": [asked, calling, ...results, answer],
	};
	chats["3.json"] = [asked, calling, ...results];
	for (const [name, chat] of Object.entries(chats)) file(`ends/${name}`, JSON.stringify(chat));
	const args = ["import", "ends", "--as", "messages", "--no-redact", "--assume-success", "true"];
	const { stdout, stderr } = await assertEnds(0, args);
	const written = parsed(stdout);
	const roles = written.map(({ messages }) => messages.map(({ role }) => role[0]).join(""));
	assert.deepEqual(roles, ["ua", "uatta", "ua"]);
	assert.match(stderr, /^2 runs cut after the last answer; secrets were not removed/m);
	const names = written.map(({ tools }) => tools?.map((tool) => tool.function.name));
	assert.deepEqual(names, [undefined, ["hose", "can"], ["hose", "can"]]);
});

test("kp-score select considers only the runs that the options select", async () => {
	const args = [...SELECT, "--count", "9"];
	assert.deepEqual(await idsOf([...args, "--until", "2025-12-31"]), []);
	assert.deepEqual(await idsOf([...args, "--since", "1d"]), []);
	assert.deepEqual((await idsOf([...SELECT, "--since", "99999d", "--count", "3"])).length, 3);
	const day = ["--since", "2026-01-01T00:00:01Z", "--until", "2026-01-01T00:00:03Z"];
	assert.deepEqual((await idsOf([...args, ...day])).sort(), ["t:1", "t:2"]);
});

test("kp-score select needs to know how many runs, and where messages go", async () => {
	for (const [args, message] of [
		[[], /--count or --coverage is needed/],
		[["--count", "1", "--as", "messages"], /--as messages needs -o/],
		[["--count", "1", "--redact"], /--redact needs -o/],
	])
		assert.match((await assertEnds(2, [...SELECT, ...args])).stderr, message);
});

test("kp-score select takes rows of --against whose runs other options leave out, and needs vectors", async () => {
	file(
		"rows-of-one.jsonl",
		linesOf(await rowsOf(["select", "runs/a/one.jsonl", "--novelty", "words", "--count", "9"])),
	);
	const later = [...SELECT, "--count", "9", "--since", "2026-01-01T00:00:02Z"];
	assert.deepEqual(await idsOf([...later, "--against", "rows-of-one.jsonl"]), ["t:2"]);
	const { stderr } = await assertEnds(2, ["select", "runs", "--count", "1", "--embedder", "off"]);
	assert.match(stderr, /without vectors nothing can be selected/);
});

test("kp-score select ends with the error of a trace", async () => {
	const wrong = { ...runOf(1), outcome: { confidence: 7 } };
	const runs = Array.from({ length: 100 }, (_, n) => runOf(n % 9));
	const path = file("wrong.jsonl", linesOf([wrong, ...runs]));
	const args = ["select", path, "--novelty", "words", "--count", "1"];
	const { stdout, stderr } = await assertEnds(2, args);
	assert.equal(stdout, "");
	assert.match(stderr, /^error: .*confidence/m);
});
