/**
 * How fast `evaluateLogs` scores short traces without the model:
 * node benchmark/rows.mjs [--mb 1000] [--items] [--group /metadata/session_id] [--file traces.jsonl]
 *
 * Makes a file of traces with two to five steps, 500 to 900 bytes each, unless one is named.
 */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Scorer } from "../lib/entries/index.mjs";

const options = parseArgs({
	options: {
		mb: { type: "string", default: "1000" },
		items: { type: "boolean", default: false },
		group: { type: "string" },
		file: { type: "string" },
	},
}).values;

const KINDS = ["thought", "tool_call", "observation", "error_recovery"];

/** A trace by its number: no two are the same. */
function trace(number) {
	const steps = Array.from({ length: 2 + (number % 4) }, (_, index) => {
		const type = KINDS[(number + index) % KINDS.length];
		const tool = type === "tool_call" && { name: `tool ${number % 5}` };
		const content = `Step ${index} of ${number} looks at "file ${index}"`;
		return { step_id: index, type, content, ...(tool && { tool }) };
	});
	return {
		"@context": "https://openknowledgepulse.org/schema/v1",
		"@type": "ReasoningTrace",
		id: `kp:trace:${number}`,
		metadata: {
			created_at: "2026-01-01T00:00:00.000Z",
			task_domain: ["code", "finance", "other"][number % 3],
			success: number % 4 > 0,
			quality_score: 0,
			visibility: "network",
			privacy_level: "aggregated",
			session_id: `session ${number % 100}`,
		},
		task: { objective: `Objective ${number}: find what fails, and mend it` },
		steps,
		outcome: { result_summary: "done", confidence: (number % 1000) / 999 },
	};
}

function write(path, bytes) {
	const file = openSync(path, "w");
	for (let number = 0, written = 0; written < bytes; ) {
		let text = "";
		for (const end = number + 1000; number < end; number++)
			text += `${JSON.stringify(trace(number))}\n`;
		written += writeSync(file, text);
	}
	closeSync(file);
}

async function measure(path) {
	const { group, items } = options;
	const rows = new Scorer({ embedder: "off" }).evaluateLogs(path, { group });
	const began = performance.now();
	for await (const _ of items ? rows : rows.lines());
	const seconds = (performance.now() - began) / 1000;
	const { user, system } = process.cpuUsage();
	const [{ traces }] = rows.report.inputs;
	console.log(
		`${Math.round(traces / seconds).toLocaleString("en")} traces/s, ` +
			`${Math.round(statSync(path).size / 1e6 / seconds)} MB/s, ` +
			`${Math.round(process.resourceUsage().maxRSS / 1024)} MB at most; ` +
			`${((user + system) / 1e6).toFixed(1)} s of ${availableParallelism()} cores in ${seconds.toFixed(1)} s`,
	);
}

if (options.file) {
	await measure(options.file);
} else {
	const folder = mkdtempSync(join(tmpdir(), "rows-"));
	try {
		const path = join(folder, "traces.jsonl");
		write(path, Number(options.mb) * 1e6);
		await measure(path);
	} finally {
		rmSync(folder, { recursive: true });
	}
}
