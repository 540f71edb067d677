import assert from "node:assert/strict";
import { test } from "node:test";
import { ScoringSpanProcessor } from "@knowledgepulse/scoring-otel";

for (const [path, options] of [
	["options", null],
	["options", "otel"],
	["onscore", { onscore() {} }],
	["onscore", { onscore: undefined }],
	["format", { format: "otel" }],
	["errors", { errors: "collect" }],
	["signal", { signal: AbortSignal.timeout(1) }],
	["scorer", { scorer: {} }],
	["scorer", { scorer: null }],
	["onScore", { onScore: "log" }],
	["onError", { onError: true }],
	["label", { label: "high" }],
	["loggerProvider", { loggerProvider: {} }],
	["maxTraces", { maxTraces: 0 }],
	["maxSpans", { maxSpans: 1.5 }],
	["maxBytes", { maxBytes: "1 MB" }],
	["waitMs", { waitMs: -1 }],
	["waitMs", { waitMs: 2 ** 31 }],
	["assumeSuccess", { assumeSuccess: "maybe" }],
	["domain", { domain: 1 }],
	["createdAt", { createdAt: "yesterday" }],
])
	test(`ScoringSpanProcessor refuses ${JSON.stringify(options)}`, () =>
		assert.throws(() => new ScoringSpanProcessor(options), {
			name: "ScoringError",
			code: "INVALID_OPTION",
			path,
		}));

test("ScoringSpanProcessor suggests the nearest option", () =>
	assert.throws(() => new ScoringSpanProcessor({ onscore() {} }), /did you mean onScore\?$/));
