import assert from "node:assert/strict";
import { test } from "node:test";
import util from "node:util";
import { ScoringError } from "@knowledgepulse/scoring";
import { ImportError, importTraces } from "@knowledgepulse/scoring/logs";
import { all, assumed, conversation, importErrorOf, lines, summary } from "../support/imports.mjs";
import { trace } from "../support/traces.mjs";

/** Logs with one error each: its code, line and path, and options. */
const logs = {
	"no JSON": [`${lines("one")}{"messages": [}\n${lines("two")}`, "INVALID_JSON", 2],
	"a document that is cut off": ['[\n {"role": "user"', "INVALID_JSON", 2],
	"no UTF-8": [
		Buffer.concat([Buffer.from(lines("one")), Buffer.of(123, 255, 10), Buffer.from(lines("two"))]),
		"INVALID_UTF8",
		2,
	],
	"nothing known": ['{"hello": "world"}', "UNKNOWN_FORMAT", undefined],
	nothing: [new Uint8Array(), "UNKNOWN_FORMAT", undefined],
	"another format": [lines("one"), "UNKNOWN_FORMAT", undefined, { format: "pi" }],
	"a trace that is none": [
		`${lines("one")}${JSON.stringify(trace({ confidence: 5 }))}\n${lines("two")}`,
		"INVALID_TRACE",
		2,
	],
};

for (const [what, [data, code, line, options]] of Object.entries(logs)) {
	const source = { name: "my log", data };
	const objectives = line === 2 && !what.startsWith("a document") ? ["one", "two"] : [];

	test(`importTraces rejects ${what} after the traces before it`, async () => {
		const imported = importTraces(source, { ...assumed, ...options });
		for (const objective of objectives.slice(0, 1)) {
			const { value } = await imported.next();
			assert.equal(value.trace.task.objective, objective);
		}
		const error = await importErrorOf(imported.next());
		assert.ok(error instanceof ImportError && error instanceof ScoringError);
		assert.deepEqual([error.code, error.source, error.line], [code, "my log", line]);
		assert.equal("line" in error, line !== undefined);
		const place = line === undefined ? "my log" : `my log:${line}`;
		assert.ok(error.message.startsWith(`${place}: `), error.message);
		assert.match(util.inspect(error), /^ImportError: my log/);
		assert.deepEqual(await imported.next(), { done: true, value: undefined });
	});

	test(`importTraces collects ${what} in its place`, async () => {
		const imported = importTraces(source, { ...assumed, ...options, errors: "collect" });
		const items = await all(imported);
		const [first, ...others] = objectives;
		const expected = first ? [first, code, ...others] : [code];
		assert.deepEqual(summary(items), expected);
		const { error } = items[first ? 1 : 0];
		assert.ok(error instanceof ImportError);
		const [input] = imported.report.inputs;
		assert.equal(input.traces, objectives.length);
		assert.deepEqual(input.errors, [{ code, line: line ?? null, message: error.message }]);
	});
}

test("importTraces rejects a run without a known success until it is told what to assume", async () => {
	const messages = conversation("one");
	const error = await importErrorOf(importTraces(messages).next());
	assert.equal(error.code, "SUCCESS_UNKNOWN");
	assert.match(error.message, /; set success or assumeSuccess$/);
	for (const assumeSuccess of [true, false]) {
		const [{ trace, provenance }] = await all(importTraces(messages, { assumeSuccess }));
		assert.equal(trace.metadata.success, assumeSuccess);
		assert.equal(trace.outcome.confidence, assumeSuccess ? 0.8 : 0.2);
		assert.equal(provenance.successFrom, "assumed");
	}
	const imported = importTraces(messages, { assumeSuccess: "skip" });
	assert.deepEqual(await all(imported), []);
	assert.deepEqual(imported.report.inputs[0].skipped, { success_unknown: 1 });
});

test("ImportError has no line and path unless they are given", () => {
	const given = { code: "INTERNAL", path: "p", source: undefined, line: 5 };
	assert.deepEqual({ ...new ImportError("text", given) }, given);
	assert.deepEqual(Object.keys(new ImportError("text")), ["code", "source"]);
});
