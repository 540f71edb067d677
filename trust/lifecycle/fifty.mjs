/** Fifty contexts that load the package at the same time. Runs in a process of its own. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import vm from "node:vm";
import { says, words } from "../../__test__/lib/traces.mjs";
import { ended, startWorker, tells } from "../../__test__/lib/workers.mjs";
import { root } from "../../scripts/lib/run.mjs";

const CONTEXTS = 50;
const require = createRequire(join(root, "index.js"));

/** The package as a context of `vm` sees it that has modules of its own, as test runners make. */
function inContext() {
	const globals = { AbortController, AbortSignal, process };
	const parsingContext = vm.createContext(globals);
	const modules = new Map();
	function load(request) {
		if (!request.startsWith("./")) return require(request);
		const known = modules.get(request);
		if (known) return known.exports;
		const module = { exports: {} };
		modules.set(request, module);
		const names = ["require", "module", "exports", "__dirname"];
		const code = readFileSync(join(root, request), "utf8");
		const options = { filename: request, parsingContext };
		const wrapped = vm.compileFunction(code, names, options);
		wrapped(load, module, module.exports, root);
		return module.exports;
	}
	const parse = vm.runInContext("JSON.parse", parsingContext);
	const own = (value) => parse(JSON.stringify(value));
	return { scoring: load("./index.js"), own };
}

export const fifty = {
	/** Workers that import at the same time, and score the same as the main thread. */
	async score(scoring, { seed }) {
		const traces = [3, 400, 40].map((count, index) =>
			says(words(count, seed + index)),
		);
		const workers = Array.from({ length: CONTEXTS }, () =>
			ended(startWorker(traces, "scores")),
		);
		const here = await new scoring.Scorer().evaluateValues(traces);
		for (const { code, message, told } of await Promise.all(workers)) {
			assert.deepEqual([code, message], [0, undefined]);
			assert.deepEqual(told.at(-1).scores, here);
		}
	},
	/** Workers all of which are terminated when the first has come so far. */
	async terminate(_, { seed, moment, delay }) {
		const workers = start(seed);
		const endings = workers.map(ended);
		await Promise.race(workers.map((worker) => tells(worker, moment)));
		await new Promise((resolve) => setTimeout(resolve, delay));
		await Promise.all(workers.map((worker) => worker.terminate()));
		for (const { message } of await Promise.all(endings))
			assert.equal(message, undefined);
	},
	/** The process ends when the first worker has come so far. */
	async exit(_, { seed, moment, delay }, send) {
		await Promise.race(start(seed).map((worker) => tells(worker, moment)));
		await new Promise((resolve) => setTimeout(resolve, delay));
		send("exit");
		process.exit(7);
	},
	/** Contexts of `vm`, each with the modules of the package and the traces of its own. */
	async vm(scoring, { seed }) {
		const traces = [3, 90].map((count, index) =>
			says(words(count, seed + index)),
		);
		const here = await new scoring.Scorer().evaluateValues(traces);
		const contexts = Array.from({ length: CONTEXTS }, inContext);
		const scores = await Promise.all(
			contexts.map(({ scoring, own }) =>
				new scoring.Scorer().evaluateValues(own(traces)),
			),
		);
		for (const found of scores) assert.deepEqual([...found], here);
	},
};

function start(seed) {
	return Array.from({ length: CONTEXTS }, (_, index) =>
		startWorker(
			[says(words(300, seed + index)), says(words(3, index))],
			"return",
		),
	);
}
