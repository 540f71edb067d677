/** kp-score doctor */
const { availableParallelism, cpus } = require("node:os");
const { resolve } = require("node:path");
const { Exit, atEnd, exitCodeOf } = require("../exit.js");
const { Output, show } = require("../output.js");
const { style } = require("../terminal.js");
const { version } = require("../../package.json");

const RUNS = 20;

/** A trace of about 60 tokens, which differs for each `n`, so that it is not in the memo. */
const sample = (n) => ({
	metadata: { task_domain: "code", success: true },
	task: { objective: `Fix the flaky test number ${n} of the importer` },
	steps: [
		{
			type: "thought",
			content: "The test fails when two files are read at the same time, so there may be a race.",
		},
		{ type: "tool_call", tool: { name: "editor" }, content: "" },
		{ type: "observation", content: "All 212 tests pass." },
	],
	outcome: { confidence: 0.9 },
});

async function timed(scorer) {
	const began = performance.now();
	await scorer.warmup();
	const warmupMs = performance.now() - began;
	const times = [];
	for (let n = 0; n < RUNS; n += 1) {
		const { timesMs } = await scorer.explainValue(sample(n));
		times.push(timesMs.total);
	}
	times.sort((a, b) => a - b);
	return { warmupMs, scoreMs: times[RUNS / 2] };
}

async function examine({ precision }) {
	const found = {
		platform: `${process.platform}-${process.arch}`,
		node: process.versions.node,
		cpu: cpus()[0]?.model ?? null,
		cores: availableParallelism(),
		cli: version,
	};
	let scorer;
	let result;
	try {
		const { Scorer } = require("@knowledgepulse/scoring");
		found.scoring = require("@knowledgepulse/scoring/package.json").version;
		found.addon = Object.keys(require.cache).find((path) => path.endsWith(".node")) ?? null;
		const given = process.env.KNOWLEDGEPULSE_SCORING_LIBRARY;
		const findRuntime = require("@knowledgepulse/scoring/internal/runtime");
		found.onnxRuntime = given ? { library: resolve(given) } : findRuntime();
		scorer = new Scorer({ embedder: "required", precision });
		atEnd(() => scorer.close());
		result = { ...(await timed(scorer)), error: null };
	} catch (error) {
		const { code = null, message } = error;
		result = { error: { code, message }, exitCode: exitCodeOf(error) };
	}
	const { embedder, threads } = scorer?.status() ?? {};
	return { ...found, embedder, threads, ...result };
}

function textOf({ embedder = {}, error, ...found }) {
	const { backend, model, modelName, precision, state } = embedder;
	const { library, reason, version = "KNOWLEDGEPULSE_SCORING_LIBRARY" } = found.onnxRuntime ?? {};
	const facts = {
		platform: `${found.platform}, Node.js ${found.node}`,
		processor: `${found.cpu ?? "unknown"}, ${found.cores} cores`,
		"kp-score": found.cli,
		scoring: found.scoring,
		addon: found.addon,
		embedder: backend && `${state}, ${backend}, ${precision}`,
		model: modelName && `${modelName}, in ${model}`,
		library: library ? `${library} (${version})` : reason && `none: ${reason}`,
		threads: found.threads,
		score:
			found.scoreMs &&
			`${found.scoreMs.toFixed(1)} ms for a short trace, after ${found.warmupMs.toFixed(0)} ms to load the model`,
	};
	const lines = Object.entries(facts)
		.filter(([, value]) => value !== undefined && value !== null)
		.map(([name, value]) => `${style("dim", name.padEnd(10))} ${value}\n`);
	const verdict = error
		? `${style("red", "✗")} ${error.message}`
		: `${style("green", "✓")} everything works`;
	return `${lines.join("")}\n${verdict}\n`;
}

module.exports = async function doctor(_args, options) {
	const output = new Output(process.stdout, options);
	const { exitCode = Exit.OK, ...found } = await examine(options);
	await show(output, found, textOf);
	await output.commit();
	return exitCode;
};
