import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname } from "node:path";
import { test } from "node:test";
import vm from "node:vm";
import { InvalidTraceError, Scorer } from "@knowledgepulse/scoring";
import { trace } from "../support/traces.mjs";

const require = createRequire(import.meta.url);
const entry = require.resolve("@knowledgepulse/scoring");

/** The package, loaded once more in a context of its own, as Jest does it. */
function loadInContext() {
	const context = vm.createContext({
		AbortController,
		Buffer,
		clearTimeout,
		process,
		queueMicrotask,
		setTimeout,
	});
	const modules = new Map();
	const load = (file) => {
		if (file.endsWith(".node")) return require(file);
		if (modules.has(file)) return modules.get(file).exports;
		const module = { exports: {} };
		modules.set(file, module);
		const wrapped = vm.runInContext(
			`(function (exports, require, module, __filename, __dirname) {${readFileSync(file, "utf8")}\n})`,
			context,
			{ filename: file },
		);
		const local = createRequire(file);
		const requireHere = (name) => {
			if (isBuiltin(name) || name.endsWith(".json")) return local(name);
			return load(local.resolve(name));
		};
		requireHere.resolve = local.resolve;
		wrapped(module.exports, requireHere, module, file, dirname(file));
		return module.exports;
	};
	return { context, scoring: load(entry) };
}

test("ScoringError belongs to the realm that loaded the package", async () => {
	const { context, scoring } = loadInContext();
	const InnerError = vm.runInContext("Error", context);
	assert.notEqual(InnerError, Error);
	const rejected = await scoring.evaluateValue({}).catch((error) => error);
	assert.ok(rejected instanceof InnerError);
	assert.ok(rejected instanceof scoring.InvalidTraceError);
	assert.ok(!(rejected instanceof InvalidTraceError));
	assert.equal(rejected.name, "InvalidTraceError");
	for (const call of [
		() => new scoring.VectorCache({ maxElement: 1 }),
		() => new scoring.VectorCache().add([1]),
		() => new scoring.Scorer({ threads: 0 }),
		() => scoring.configure(null),
	])
		assert.throws(call, (error) => {
			assert.ok(error instanceof InnerError, String(error));
			return error instanceof scoring.ScoringError;
		});
});

test("ScoringError differs between two instances of the package", async () => {
	const { scoring } = loadInContext();
	const [inner, outer] = await Promise.all(
		[scoring, require(entry)].map(({ evaluateValue }) => evaluateValue({}).catch((error) => error)),
	);
	assert.ok(outer instanceof InvalidTraceError);
	assert.ok(inner instanceof scoring.InvalidTraceError);
	assert.deepEqual([inner.code, inner.path], [outer.code, outer.path]);
});

test("evaluateValue scores the same in another realm", async () => {
	const { context, scoring } = loadInContext();
	const scorer = new scoring.Scorer();
	const inner = vm.runInContext(`(${JSON.stringify(trace())})`, context);
	assert.equal(await scorer.evaluateValue(inner), await new Scorer().evaluateValue(trace()));
});

test("VectorCache accepts typed arrays of every realm", () => {
	const { context, scoring } = loadInContext();
	const inner = vm.runInContext("new Float32Array([3, 4])", context);
	const cache = new scoring.VectorCache({ dimensions: 2 });
	cache.add(inner);
	assert.equal(cache.maxCosineSimilarity(new Float32Array([3, 4])), 1);
});
