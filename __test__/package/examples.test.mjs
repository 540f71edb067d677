import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as scoring from "@knowledgepulse/scoring";
import * as calibration from "@knowledgepulse/scoring/calibrate";
import * as logs from "@knowledgepulse/scoring/logs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";
import { compileModules, examplesIn } from "../support/typescript.mjs";

const checkout = fileURLToPath(new URL("../..", import.meta.url));
const types = readdirSync(join(checkout, "lib/types")).map((name) => `lib/types/${name}`);
const declarations = ["index.d.ts", ...types]
	.map((file) => readFileSync(join(checkout, file), "utf8"))
	.join("\n");

const EXPORT =
	/(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)?\s*^export (?:declare |abstract )*(?:function|class|const) (\w+)/gm;

test("the declarations have an example for every function, class and constant", () => {
	const exported = new Map();
	for (const [, comment = "", name] of declarations.matchAll(EXPORT))
		exported.set(name, (exported.get(name) ?? 0) + examplesIn(comment).length);
	for (const name of Object.keys({ ...scoring, ...logs, ...calibration }))
		assert.ok(exported.has(name), `${name} is not declared`);
	const without = [...exported].filter(([, count]) => count === 0);
	assert.deepEqual(without, []);
});

test("the declarations have examples that compile in strict mode", (t) => {
	const examples = examplesIn(declarations);
	assert.ok(!examples.includes(undefined), "an @example without a ts block");
	const config = readFileSync(join(checkout, "__test__/tsconfig.json"), "utf8");
	assert.equal(compileModules(t, examples, JSON.parse(config).compilerOptions), "");
});

/** What an example prints. */
function printed(name, ...args) {
	const command = [join(checkout, "examples", name), ...args];
	const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
	assert.equal(status, 0, stderr);
	return stdout;
}

test("examples/demo.mjs prints scores, an explanation, a session and a threshold", () => {
	const stdout = printed("demo.mjs");
	assert.doesNotMatch(stdout, /undefined|NaN/);
	for (const part of [/^flaky test found .* 0\.7290$/m, /time: .* in the model/, /^Imported from/m])
		assert.match(stdout, part);
	assert.match(stdout, /^A threshold of 0\.\d+ accepts \d+ of \d+ traces/m);
});

test("examples/what-scores-say.mjs prints the distribution and the AUC of each dimension", async (t) => {
	const { traces } = await import("../../examples/traces.mjs");
	const file = join(temporaryFolder(t), "runs.jsonl");
	writeFileSync(file, traces.map((trace) => `${JSON.stringify(trace)}\n`).join(""));
	const stdout = printed("what-scores-say.mjs", file);
	assert.match(stdout, /^\d+ runs, \d+ of which succeeded$/m);
	assert.equal(stdout.match(/^AUC of .*: \d\.\d\d/gm).length, 6);
});

test("examples/same-task.mjs tells runs of one task from others, for each kind of novelty", (t) => {
	const file = join(temporaryFolder(t), "runs.jsonl");
	const runs = ["Fix the parser", "Refund an order", "Sort the letters"].flatMap((objective) =>
		[0, 1].map((run) => ({ ...trace({ objective }), id: `${objective}-${run}` })),
	);
	writeFileSync(file, runs.map((run) => JSON.stringify(run)).join("\n"));
	const stdout = printed("same-task.mjs", file, "--task-from-id", "(.*)-");
	assert.match(stdout, /^6 runs, 3 pairs of one task$/m);
	assert.equal(stdout.match(/^(text|words|run) +1\.000 +100% +100%$/gm)?.length, 3, stdout);
});

test("examples/evidence.mjs shows that select covers tasks, and is a memory of them", (t) => {
	const folder = temporaryFolder(t);
	const [file, plot] = [join(folder, "runs.jsonl"), join(folder, "plot.svg")];
	const runs = ["Fix the parser", "Refund an order", "Sort the letters"].flatMap(
		(objective, task) =>
			[0, 1, 2].map((run) => ({
				...trace({ objective, success: (task + run) % 2 > 0 }),
				id: `${objective}-${run}`,
			})),
	);
	writeFileSync(file, runs.map((run) => JSON.stringify(run)).join("\n"));
	const options = ["--task-from-id", "(.*)-", "--share", "0.34", "--plot", plot];
	const stdout = printed("evidence.mjs", file, ...options);
	assert.match(stdout, /^9 runs of 3 tasks, 3 kept$/m);
	for (const name of ["select, success unknown", "select, success known"])
		assert.match(stdout, new RegExp(`^${name} +1\\.00 \\(.*?1\\.00\\) .*? 1\\.00 `, "m"), stdout);
	assert.match(stdout, /^random +0\.\d\d /m);
	assert.match(readFileSync(plot, "utf8"), /^<svg .*<circle/s);
});

test("a trace of KPCapture scores at most 0.681, whatever its domain and its novelty", async () => {
	const greatest = async (domain) => {
		const steps = [{ type: "thought" }, { type: "observation" }];
		const captured = trace({ domain, steps, confidence: 0.8 });
		const { accepted, bounds } = await scoring.decide(captured, { threshold: 0.75 });
		assert.equal(accepted, false, domain);
		return bounds[1];
	};
	const domains = ["default", "finance", "code", "medical", "customer_service"];
	const most = Math.max(...(await Promise.all(domains.map(greatest))));
	assert.equal(most.toFixed(4), "0.6805");
});
