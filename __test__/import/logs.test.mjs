import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { all, assumed, recordings } from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const options = { ...assumed, errors: "collect" };

/** JSON by RFC 8785. */
function canonical(value) {
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	if (Array.isArray(value)) return `[${value.map(canonical)}]`;
	const members = Object.keys(value)
		.sort()
		.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
	return `{${members}}`;
}

const sha = (text) => createHash("sha256").update(text).digest("hex").slice(0, 12);

const goldenStep = ({ type, tool, content, input }) => ({
	type,
	...(tool && { tool: tool.name }),
	...(content !== undefined && { contentSha: sha(content), contentChars: [...content].length }),
	...(input !== undefined && { inputSha: sha(canonical(input)) }),
});

const goldenTrace = ({ trace, provenance }) => ({
	id: trace.id,
	format: provenance.format,
	objective: trace.task.objective,
	objectiveFrom: provenance.objectiveFrom,
	success: trace.metadata.success,
	successFrom: provenance.successFrom,
	confidence: trace.outcome.confidence,
	confidenceFrom: provenance.confidenceFrom,
	createdAt: trace.metadata.created_at,
	createdAtFrom: provenance.createdAtFrom,
	domain: trace.metadata.task_domain,
	summarySha: sha(trace.outcome.result_summary),
	steps: trace.steps.map(goldenStep),
	skipped: provenance.skipped,
});

/** What an import of these sources gives, as golden files have it. */
async function goldenOf(sources) {
	const imported = importTraces(sources, options);
	const items = await all(imported);
	return imported.report.inputs.map(({ name, formats, traces, skipped, errors }) => {
		const own = items.filter(({ provenance }) => provenance?.source.name === name);
		assert.equal(own.length, traces, name);
		return {
			name,
			formats,
			traces: own.map(goldenTrace),
			skipped,
			errors: errors.map(({ line, code }) => ({ line, code })),
		};
	});
}

for (const { name, paths, golden } of recordings) {
	test(`importTraces makes of ${name} logs what the specification says`, async () => {
		const found = await goldenOf(paths);
		for (const [index, result] of found.entries()) {
			const { file, ...expected } = golden[index];
			assert.deepEqual(result, { name: paths[index], ...expected }, file);
		}
		assert.equal(found.length, golden.length);
	});

	test(`importTraces recognises ${name} logs by their content alone`, async (t) => {
		const other = temporaryFolder(t);
		for (const [index, { file, formats, traces, errors }] of golden.entries()) {
			const misnamed = join(other, `${index}.${file.endsWith("l") ? "json" : "txt"}`);
			copyFileSync(paths[index], misnamed);
			const small = { highWaterMark: 1009 };
			const sources = {
				misnamed,
				"a stream": { name: "x", data: createReadStream(misnamed, small) },
				bytes: { name: "x", data: readFileSync(misnamed) },
			};
			for (const [kind, source] of Object.entries(sources)) {
				const [found] = await goldenOf(source);
				const message = `${file} as ${kind}`;
				assert.deepEqual(found.formats, formats, message);
				assert.deepEqual(found.errors, errors, message);
				// Continued in a file beside the original one.
				if (found.traces.some(({ skipped }) => skipped.continuation_missing)) continue;
				assert.deepEqual(found.traces, traces, message);
			}
		}
	});
}
