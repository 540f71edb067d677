/** The programs and settings of every project, besides the files in fixtures/. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { traces } from "../../examples/traces.mjs";
import { root } from "../lib/run.mjs";

/** How many of the examples are scored; the last two depend on the model. */
const COUNT = 4;

/** What every program scores. */
export const TRACES = JSON.stringify(traces.slice(0, COUNT));

const read = (path) => readFileSync(join(root, path), "utf8");

const scores = JSON.parse(read("examples/scores.json"));

/** The scores of TypeScript over transformers.js, which rounds differently and has weights of more bits. */
export const EXPECTED = { scores: scores.slice(0, COUNT), tolerance: 2e-5 };

/** Scores the traces with all entry points, after a call that a signal has ended, and one of them again. */
const PROGRAM = `const traces = JSON.parse(readFileSync("traces.json", "utf8"));
const [{ signal }, ended] = [new AbortController(), new AbortController()];
const reason = new Error("aborted");
const rejected = evaluateValues(traces, { signal: ended.signal }).catch((error) => error);
ended.abort(reason);
if ((await rejected) !== reason) throw await rejected;
const scores = await evaluateValues(traces, { signal });
await clear();
const rows = [];
for await (const row of evaluateLogs("traces.json")) rows.push(row);
const { total } = (await calibrate(rows)).rows;
if (total !== scores.length) throw new Error(\`\${total} rows\`);
if (rows.some(({ score }, i) => score !== scores[i])) throw new Error(JSON.stringify(rows));
const { dimensions, novelty } = await explainValue(traces[0]);
const again = { source: novelty.source, novelty: dimensions.novelty };
const { state, reason: without } = status().embedder;
const result = { scores, again, state: without ?? state };
`;

const PRINT = "console.log(JSON.stringify(result));\n";

const IMPORTS = `import { readFileSync } from "node:fs";
import { clear, evaluateValues, explainValue, status } from "@knowledgepulse/scoring";
import { calibrate } from "@knowledgepulse/scoring/calibrate";
import { evaluateLogs } from "@knowledgepulse/scoring/logs";
`;

/** The program as a CommonJS module that loads others by a function of this name. */
const commonJs = (load) =>
	`${IMPORTS.replaceAll(/import (.*) from (".*");/g, `const $1 = ${load}($2);`)}(async () => {
${PROGRAM}${PRINT}})();
`;

const CUSTOM = `import { readFileSync } from "node:fs";
import { Scorer } from "@knowledgepulse/scoring";
const traces = JSON.parse(readFileSync("traces.json", "utf8"));
const onnx = new Scorer({ backend: "onnx", embedder: "required" });
const custom = new Scorer({ model: "custom-model", pooling: "mean", embedder: "required" });
async function score() {
	const scores = [];
	for (const trace of traces) scores.push(await onnx.evaluateValue(trace));
	const [x, y] = await custom.embed("a b");
	if (Math.hypot(x - 0.6, y - 0.8) > 1e-6) throw new Error(\`the custom model gives \${x}, \${y}\`);
	const { state, libraryVersion: library } = custom.status().embedder;
	return { scores, state, library };
}
const result = await score().catch(({ code, message: state }) => ({ code, state }));
console.log(JSON.stringify(result));
`;

const get = (setting) => `${IMPORTS}export const ${setting};
export async function GET() {
${PROGRAM}return Response.json(result);
}
`;

/** A server's answer to a request, by framework. */
export const ROUTES = {
	next: get('dynamic = "force-dynamic"'),
	nitro: `import { defineEventHandler } from "h3";
${IMPORTS}export default defineEventHandler(async () => {
${PROGRAM}return result;
});
`,
	astro: get("prerender = false"),
};

const tsconfig = (module, moduleResolution, files) =>
	JSON.stringify({
		compilerOptions: {
			module,
			moduleResolution,
			target: "es2022",
			strict: true,
			types: ["node"],
			rootDir: ".",
			outDir: `out/${moduleResolution}`,
		},
		files,
	});

export const FIXTURES = {
	"traces.json": TRACES,
	"expected.json": JSON.stringify(EXPECTED),
	"ai-sdk.mjs": read("__test__/support/ai-sdk.mjs"),
	"score.mjs": `${IMPORTS}${PROGRAM}${PRINT}`,
	"score.cjs": commonJs("require"),
	/** Finds the package beside the executable that it is part of, wherever that is started. */
	"compiled.cjs": `const load = require("node:module").createRequire(process.execPath);
${commonJs("load")}`,
	"sea.json": JSON.stringify({ main: "compiled.cjs", output: "single" }),
	/** Scores with a store in a file. */
	"store.mjs": `import { readFileSync } from "node:fs";
import { Scorer } from "@knowledgepulse/scoring";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
const store = new SqliteStore({ path: "novelty.db" });
const scorer = new Scorer({ store });
const traces = JSON.parse(readFileSync("traces.json", "utf8"));
const scores = [];
for (const trace of traces) scores.push(await scorer.evaluateValue(trace));
const { dimensions, novelty } = await scorer.explainValue(traces[0]);
const again = { source: novelty.source, novelty: dimensions.novelty };
const result = { scores, again, state: scorer.status().embedder.state };
scorer.close();
await store.close();
${PRINT}`,
	"rollup.config.mjs": `export default {
	input: "score.mjs",
	external: [/^@knowledgepulse\\//, /^node:/],
};
`,
	/** Scores in as many workers at once as the argument says. */
	"workers.mjs": `import { Worker } from "node:worker_threads";
const file = new URL("./score.mjs", import.meta.url);
for (let count = Number(process.argv[2]); count > 0; count--) new Worker(file);
`,
	/** Scores in ONNX Runtime, and embeds with a custom model; or reports why there is no ONNX Runtime. */
	"custom.mjs": CUSTOM,
	/** As custom.mjs, for tools that trace files. */
	"custom-traced.mjs": `import "onnxruntime-node";\n${CUSTOM}`,
	/** Reports why loading fails. */
	"explain.cjs": `try {
	require("@knowledgepulse/scoring");
} catch ({ code, message }) {
	console.log(JSON.stringify({ code, message }));
}
`,
	/** Does the same as score.mjs without the package, in the same time. */
	"idle.mjs": `import { readFileSync } from "node:fs";
readFileSync("traces.json", "utf8");
setTimeout(console.log, Number(process.argv[2]), "idle");
`,
	/** Prints whether a port of this machine can be reached. */
	"connect.mjs": `import { connect } from "node:net";
const socket = connect(Number(process.argv[2]), "127.0.0.1");
socket.on("connect", () => socket.end("", () => console.log("reached")));
socket.on("error", ({ code }) => console.log(code));
`,
	/** Runs the program of the command line, which PnP finds too. */
	"kp-score.cjs": `const { dirname, join } = require("node:path");
const manifest = require.resolve("@knowledgepulse/scoring-cli/package.json");
process.argv.splice(2, Number.POSITIVE_INFINITY, "score", "traces.json");
require(join(dirname(manifest), "bin/kp-score.js"));
`,
	"sdk.mjs": `import { evaluateValue } from "@knowledgepulse/sdk";
import report from "./sdk.cjs";
await report(evaluateValue);
`,
	"jest.config.json": JSON.stringify({
		testEnvironment: "node",
		testMatch: ["<rootDir>/jest.test.cjs"],
		transform: {},
		watchman: false,
	}),
	"jest.test.cjs": `const cases = require("./cases.cjs");
function load() {
	jest.resetModules();
	return require("@knowledgepulse/scoring");
}
cases({ test, expect, load, isReloaded: true });
`,
	/** Otherwise Node.js loads packages, once for each process. */
	"vitest.config.mjs": `export default {
	test: { globals: true,
		include: ["vitest.test.mjs"],
		server: { deps: { inline: ["@knowledgepulse/scoring"] } },
	},
};
`,
	"vitest.test.mjs": `import cases from "./cases.cjs";
function load() {
	vi.resetModules();
	return import("@knowledgepulse/scoring");
}
cases({ test, expect, load, isReloaded: false });
`,
	"tsconfig.node16.json": tsconfig("node16", "node16", ["score.ts", "score.cts"]),
	"tsconfig.nodenext.json": tsconfig("nodenext", "nodenext", ["score.ts", "score.cts"]),
	"tsconfig.bundler.json": tsconfig("esnext", "bundler", ["score.ts"]),
};
