import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as scoring from "@knowledgepulse/scoring";
import * as calibration from "@knowledgepulse/scoring/calibrate";
import * as logs from "@knowledgepulse/scoring/logs";
import { gate } from "../../examples/recipes/share.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { named } from "../support/stores.mjs";
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

test("examples/recipes/share.mjs contributes what is accepted, and keeps in memory what was contributed", async () => {
	const results = { good: "0.9", poor: "0.1", refused: "0.9", broken: "" };
	const offered = [];
	const errors = [];
	let isOver;
	const over = new Promise((resolve) => {
		isOver = resolve;
	});
	const note = (list) => (item) => {
		list.push(item);
		// The last two of four: a rejected trace leaves no note.
		if (offered.length === 2 && errors.length === 2) isOver();
	};
	const run = gate(async (name) => results[name], {
		threshold: 0.4,
		traceOf: (result, name) => ({
			...named(name, `${name} task`),
			outcome: { confidence: result && Number(result) },
		}),
		contribute: async ({ id }) => {
			note(offered)(id);
			if (id === "refused") throw new Error("no room");
		},
		onError: ({ message }) => note(errors)(message),
	});
	await scoring.clear();
	for (const [name, result] of Object.entries(results)) assert.equal(await run(name), result);
	await over;
	assert.deepEqual(offered, ["good", "refused"]);
	assert.deepEqual(errors.sort(), [
		"no room",
		'outcome.confidence: expected a finite number in [0, 1], got ""',
	]);
	const known = (await scoring.similar("task")).map(({ id }) => id);
	assert.deepEqual(known, ["good"]);
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
