/**
 * How fast `evaluateLogs` scores short traces without the model:
 * node benchmark/rows.mjs [--mb 1000] [--items] [--group /metadata/session_id] [--file traces.jsonl]
 *
 * Makes a file of traces with two to five steps, 650 to 850 bytes each, unless one is named.
 */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Scorer } from "../lib/entries/index.mjs";
import { generateTrace } from "./generate.mjs";

const options = parseArgs({
	options: {
		mb: { type: "string", default: "1000" },
		items: { type: "boolean", default: false },
		group: { type: "string" },
		file: { type: "string" },
	},
}).values;

/** A trace by its number: no two are the same. */
function trace(number) {
	const generated = generateTrace(number, { words: 50, steps: 2 + (number % 4) });
	const metadata = { ...generated.metadata, session_id: `session ${number % 100}` };
	return { "@type": "ReasoningTrace", ...generated, metadata };
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
