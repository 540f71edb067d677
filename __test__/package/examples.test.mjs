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

/** What a program of the checkout prints. */
function printed(name, ...args) {
	const command = [join(checkout, name), ...args];
	const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
	assert.equal(status, 0, stderr);
	return stdout;
}

test("examples/demo.mjs prints scores, an explanation, a session and a threshold", () => {
	const stdout = printed("examples/demo.mjs");
	assert.doesNotMatch(stdout, /undefined|NaN/);
	for (const part of [
		/^0\.729 .* demo-flaky-test-found +Find out why/m,
		/weighted sum .*\n.*error-recovery .*\n.*low-tool-diversity/,
		/session\.jsonl:\d+\n\n +complexity/,
		/^threshold 0\.\d+ .* accepts \d/m,
	])
		assert.match(stdout, part);
});

test("tools/evidence says what novelty, scores and kept runs say, of chat logs with labels", (t) => {
	const folder = temporaryFolder(t);
	const labels = ["id,label,task"];
	for (const [task, content] of ["Fix the parser", "Refund an order", "Sort the letters"].entries())
		for (const run of [0, 1, 2]) {
			const session_id = `${task}-${run}`;
			const messages = [
				{ session_id, role: "user", content },
				{ session_id, role: "assistant", content: `${content}: done.` },
			];
			const lines = messages.map((message) => JSON.stringify(message)).join("\n");
			writeFileSync(join(folder, `${session_id}.jsonl`), lines);
			labels.push(`${session_id},${(task + run) % 2},${content}`);
		}
	const file = join(folder, "labels.csv");
	writeFileSync(file, labels.join("\n"));
	const args = ["--labels", file, "--group", "task", "--share", "0.34"];
	const stdout = printed("tools/evidence/main.mjs", folder, ...args);
	assert.equal(stdout.match(/^(text|words|run) +1\.000 +100% +100% *$/gm)?.length, 3, stdout);
	assert.equal(stdout.match(/^AUC of .* \d\.\d\d \(/gm)?.length, 6, stdout);
	assert.match(stdout, /^9 runs of 3 tasks, 3 kept$/m);
	for (const name of ["select, success unknown", "select, success known"])
		assert.match(stdout, new RegExp(`^${name} +1\\.00 \\(.*?\\) +1\\.00 `, "m"), stdout);
	for (const name of ["random", "longest", "best score", "k-medoids", "one of each objective"])
		assert.match(stdout, new RegExp(`^${name}.* \\d\\.\\d\\d \\(`, "m"));
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
