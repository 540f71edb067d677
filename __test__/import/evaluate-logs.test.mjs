import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { evaluateLogs, importTraces } from "@knowledgepulse/scoring/logs";
import { all, assumed, chunked, importErrorOf, lines } from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { sharing } from "../support/stores.mjs";
import { kinds, trace } from "../support/traces.mjs";

const { version: packageVersion } = createRequire(import.meta.url)(
	"@knowledgepulse/scoring/package.json",
);

/** Traces that differ in the fields that scoring uses, as lines. */
const traces = (count) =>
	Array.from({ length: count }, (_, index) => {
		const objective = `Task ${index % 7}: ${"é😀".repeat(index % 90)}`;
		const value = trace({ objective, success: index % 2 > 0, confidence: index / count });
		const metadata = { ...value.metadata, session: index % 3 };
		return { ...value, id: `kp:trace:${index}`, metadata };
	});

const jsonl = (values) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

const off = () => new Scorer({ embedder: "off" });

const parsed = async (chunks) => {
	const text = Buffer.concat(await all(chunks)).toString();
	return text.split("\n").filter(Boolean).map(JSON.parse);
};

const codes = (items) => items.map(({ error, id }) => error?.code ?? id);

for (const kind of kinds)
	test(`evaluateLogs gives the scores of sequential evaluateValue calls, bit for bit, novelty ${kind}`, async () => {
		const given = traces(60);
		const [one, other] = [new Scorer({ novelty: kind }), new Scorer({ novelty: kind })];
		const reports = [];
		for (const value of given) reports.push(await one.explainValue(value));
		const rows = await all(other.evaluateLogs(jsonl(given), { group: "/metadata/session" }));
		assert.equal(rows.length, given.length);
		for (const [index, row] of rows.entries()) {
			const report = reports[index];
			const value = given[index];
			const { modelFingerprint, novelty = "text", precision, version, ...rest } = row;
			assert.equal(novelty, kind);
			assert.deepEqual(rest, {
				source: { name: "source", line: index + 1 },
				id: value.id,
				key: value.id,
				group: String(index % 3),
				domain: value.metadata.task_domain,
				createdAt: value.metadata.created_at ?? "",
				score: report.score,
				dimensions: report.dimensions,
				overrides: report.overrides.map(({ name }) => name),
				nearest: report.novelty.nearest,
				similarity: report.novelty.maxSimilarity,
				noveltySource: report.novelty.source,
				success: value.metadata.success,
				successFrom: "own",
				confidence: value.outcome.confidence,
				confidenceFrom: "own",
				objective: [...value.task.objective].slice(0, 120).join(""),
				steps: value.steps.length,
				tokens: report.text?.tokens ?? null,
				isCut: report.text?.isCut ?? false,
			});
			assert.equal(version, packageVersion);
			assert.equal(typeof modelFingerprint, report.text ? "string" : "object");
			assert.equal(precision, report.text && kind !== "words" ? "exact" : null);
		}
		assert.equal(one.status().cacheSize, other.status().cacheSize);
	});

test("evaluateLogs scores what importTraces gives, from any source and cut anywhere", async (t) => {
	const path = join(temporaryFolder(t), "log.jsonl");
	const text = lines("one", "zwei €", "three");
	writeFileSync(path, text);
	const bytes = Buffer.from(text);
	const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
	const sources = () => [path, text, bytes, chunked(pieces)];
	const imported = await all(importTraces(sources(), assumed));
	const evaluated = off().evaluateLogs(sources(), assumed);
	const rows = await all(evaluated);
	assert.deepEqual(
		rows.map(({ id, source, successFrom, confidenceFrom }) => [
			id,
			{ source, successFrom, confidenceFrom },
		]),
		imported.map(({ trace, provenance: { source, successFrom, confidenceFrom } }) => [
			trace.id,
			{ source, successFrom, confidenceFrom },
		]),
	);
	assert.deepEqual(
		evaluated.report.inputs.map(({ traces }) => traces),
		[3, 3, 3, 3],
	);
});

test("evaluateLogs escapes in lines what a terminal obeys", async () => {
	const objective = "é\u009b2J\u202eall\u2066\u061c\u200f \u0080end €";
	const [row] = await all(off().evaluateLogs(lines(objective), assumed));
	assert.equal(row.objective, objective);
	const name = "log\u0085";
	const given = { name, data: `${lines(objective)}{"messages": oops\n` };
	const rows = off().evaluateLogs(given, { ...assumed, errors: "collect" });
	const text = Buffer.concat(await all(rows.lines())).toString();
	assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
	const [first, { error }] = text.trim().split("\n").map(JSON.parse);
	assert.deepEqual([first.objective, first.source.name, error.source], [objective, name, name]);
});

test("evaluateLogs keeps the order of more traces than are in flight", async () => {
	const given = traces(5000);
	const rows = await parsed(off().evaluateLogs(jsonl(given)).lines());
	assert.deepEqual(
		rows.map(({ id }) => id),
		given.map(({ id }) => id),
	);
});

test("evaluateLogs gives rows while a stream waits for more", async () => {
	let release;
	const more = new Promise((resolve) => {
		release = resolve;
	});
	async function* stream() {
		yield lines("one");
		await more;
		yield lines("two");
	}
	const rows = off().evaluateLogs(stream(), assumed);
	const first = await rows.next();
	assert.equal(first.value.objective, "one");
	release();
	assert.equal((await rows.next()).value.objective, "two");
	assert.equal((await rows.next()).done, true);
});

test("evaluateLogs reads a bounded number of traces ahead", async () => {
	const chunks = Array.from({ length: 5000 }, (_, index) => lines(`${index}`));
	const stream = chunked(chunks);
	const rows = off().evaluateLogs(stream, assumed);
	await rows.next();
	await new Promise((resolve) => setTimeout(resolve, 300));
	assert.ok(stream.state.read <= 2100, String(stream.state.read));
	await rows.return();
	assert.equal(stream.state.isClosed, true);
	assert.equal((await rows.next()).done, true);
});

test("evaluateLogs rejects with source and line, after the rows before", async () => {
	const scorer = new Scorer();
	const given = traces(4).map((value) => JSON.stringify(value));
	given[2] = "{";
	const rows = scorer.evaluateLogs({ name: "n", data: given.join("\n") });
	assert.equal((await rows.next()).value.id, "kp:trace:0");
	assert.equal((await rows.next()).value.id, "kp:trace:1");
	const { code, source, line } = await importErrorOf(rows.next());
	assert.deepEqual([code, source, line], ["INVALID_JSON", "n", 3]);
	assert.equal((await rows.next()).done, true);
	assert.equal(scorer.status().cacheSize, 2);
});

test("evaluateLogs collects errors in their places", async () => {
	const [first, second] = traces(2).map((value) => JSON.stringify(value));
	const broken = { ...traces(1)[0], outcome: { confidence: 5 } };
	const text = [first, "{", JSON.stringify(broken), second].join("\n");
	const sources = () => [
		{ name: "n", data: text },
		"/nowhere/at/all.jsonl",
		{ name: "last", data: `${second}\n{` },
	];
	const options = { errors: "collect" };
	const items = await all(off().evaluateLogs(sources(), options));
	assert.deepEqual(codes(items), [
		"kp:trace:0",
		"INVALID_JSON",
		"INVALID_TRACE",
		"kp:trace:1",
		"UNREADABLE",
		"kp:trace:1",
		"INVALID_JSON",
	]);
	const { line, path, source } = items[2].error;
	assert.deepEqual([line, path, source], [3, "outcome.confidence", "n"]);
	assert.deepEqual([items[6].error.line, items[6].error.source], [2, "last"]);
	assert.equal(items[4].error.cause.code, "ENOENT");
	const written = await parsed(off().evaluateLogs(sources(), options).lines());
	assert.deepEqual(codes(written), codes(items));
	assert.deepEqual(Object.keys(written[2].error).sort(), [
		"code",
		"line",
		"message",
		"path",
		"source",
	]);
});

test("evaluateLogs names the trace for which a required embedder is missing", async () => {
	const options = { embedder: "required", model: "/nowhere" };
	const scorer = new Scorer(options);
	const text = jsonl(traces(3));
	const error = await importErrorOf(scorer.evaluateLogs(text).next());
	assert.deepEqual([error.code, error.source, error.line], ["EMBEDDER_UNAVAILABLE", "source", 1]);
	const collected = await all(scorer.evaluateLogs(text, { errors: "collect" }));
	assert.deepEqual(codes(collected), Array(3).fill("EMBEDDER_UNAVAILABLE"));
});

/** Waits until a scorer has no pending calls. */
async function idle(scorer) {
	while (scorer.status().pending > 0) await new Promise((resolve) => setTimeout(resolve, 1));
}

test("evaluateLogs with remember: false leaves the cache unchanged", async () => {
	const scorer = new Scorer();
	const given = traces(2);
	const rows = await all(scorer.evaluateLogs(jsonl(given), { remember: false }));
	assert.deepEqual(
		rows.map(({ noveltySource }) => noveltySource),
		["empty-cache", "empty-cache"],
	);
	assert.equal(scorer.status().cacheSize, 0);
});

test("evaluateLogs refuses wrong options", () => {
	for (const [options, path] of [
		[{ remember: "no" }, "remember"],
		[{ group: 5 }, "group"],
		[{ group: "metadata" }, "group"],
		[{ groups: "" }, "groups"],
		[{ errors: "ignore" }, "errors"],
	])
		assert.throws(() => evaluateLogs("log.jsonl", options), {
			name: "ScoringError",
			code: "INVALID_OPTION",
			path,
		});
});

test("evaluateLogs leaves no call running when it ends early", async () => {
	const given = traces(200);
	const text = jsonl(given);
	const scorer = new Scorer();
	const reason = new Error("enough");
	for (let taken = 0; taken < given.length; taken += 1 + (taken >> 1)) {
		for (const ending of ["return", "abort", "return of lines"]) {
			await scorer.clear();
			const { answered } = scorer.status().calls;
			const controller = new AbortController();
			const { signal } = controller;
			const rows = scorer.evaluateLogs(text, { signal });
			if (ending === "return of lines") {
				const lines = rows.lines();
				if (taken > 0) await lines.next();
				await lines.return();
				assert.equal((await lines.next()).done, true);
			} else {
				for (let left = taken; left > 0; left--) await rows.next();
				if (ending === "return") await rows.return();
				else {
					controller.abort(reason);
					// Finished rows may come first.
					await assert.rejects(all(rows), reason);
					await assert.rejects(scorer.evaluateLogs(text, { signal }).next(), reason);
				}
			}
			assert.equal((await rows.next()).done, true);
			await idle(scorer);
			const { cacheSize, calls } = scorer.status();
			// Aborted calls have changed nothing.
			assert.equal(cacheSize, calls.answered - answered, `${ending}, ${taken}`);
		}
	}
	assert.ok(scorer.status().calls.aborted > 0);
});

test("evaluateLogs rejects with CLOSED after the rows before close()", async () => {
	const { scorer } = sharing();
	for (const one of [new Scorer(), scorer()]) {
		const given = traces(3000);
		const rows = one.evaluateLogs({ name: "n", data: jsonl(given) });
		const ids = [(await rows.next()).value.id];
		one.close();
		const error = await importErrorOf(
			(async () => {
				for await (const { id } of rows) ids.push(id);
			})(),
		);
		assert.deepEqual([error.code, error.source, error.line], ["CLOSED", "n", ids.length + 1]);
		assert.deepEqual(
			ids,
			given.slice(0, ids.length).map(({ id }) => id),
		);
		assert.equal((await rows.next()).done, true);
		assert.equal(one.status().pending, 0);
		const late = one.evaluateLogs(jsonl(given.slice(0, 2)), { errors: "collect" });
		await assert.rejects(late.next(), { name: "ScoringError", code: "CLOSED" });
	}
});

for (const errors of ["reject", "collect"])
	test(`evaluateLogs rejects with CLOSED while a stream is silent, errors: "${errors}"`, async () => {
		for (const one of [new Scorer(), sharing().scorer()]) {
			async function* stream() {
				yield jsonl(traces(1));
				await new Promise(() => {});
			}
			const rows = one.evaluateLogs(stream(), { errors });
			assert.equal((await rows.next()).value.id, "kp:trace:0");
			const waiting = rows.next();
			one.close();
			await assert.rejects(waiting, { code: "CLOSED" });
			assert.equal((await rows.next()).done, true);
		}
	});

for (const [place, make] of [
	["its cache", () => new Scorer()],
	["a store", () => sharing().scorer()],
])
	test(`evaluateLogs gives known traces no rows, or the rows that they had, with ${place}`, async () => {
		const scorer = make();
		const given = jsonl(traces(30));
		const first = await all(scorer.evaluateLogs(given));
		const more = jsonl([...traces(30), trace({ objective: "One more" })]);
		const skipped = scorer.evaluateLogs(more, { known: "skip" });
		assert.deepEqual(codes(await all(skipped)), ["kp:trace:test"]);
		assert.equal(skipped.report.known, 30);
		const again = scorer.evaluateLogs(given, { known: "again" });
		const values = (rows) => rows.map(({ score, nearest }) => [score, nearest]);
		assert.deepEqual(values(await all(again)), values(first));
		assert.equal(again.report.known, 30);
		assert.equal(scorer.status().cacheSize, 31);
		for (const [index, value] of traces(30).entries()) {
			const { score, novelty } = await scorer.explainValue(value, { known: "again" });
			assert.deepEqual([score, novelty.nearest], values(first)[index]);
		}
		const decided = await scorer.decide(traces(30)[9], { known: "again", exact: true });
		assert.equal(decided.score, first[9].score);
		assert.equal(scorer.status().cacheSize, 31);
		const [self] = await all(scorer.evaluateLogs(given));
		assert.equal(self.nearest, self.id);
		scorer.close();
	});

test("evaluateLogs takes a trace that its sources have twice for a known one", async () => {
	const scorer = new Scorer();
	const twice = jsonl([...traces(2), ...traces(2)]);
	assert.equal((await all(scorer.evaluateLogs(twice, { known: "skip" }))).length, 2);
	assert.equal(scorer.status().cacheSize, 2);
});
