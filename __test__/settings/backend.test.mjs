import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, status } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { trace } from "../support/traces.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_BACKEND";

const expected = 'expected "onnx" or "native", got';

const refused = [
	["onnxruntime", `backend: ${expected} "onnxruntime"`],
	["rust", `backend: ${expected} "rust"`],
	["", `backend: ${expected} ""`],
	["Native", `backend: ${expected} "Native"`],
	["native ", `backend: ${expected} "native "`],
	[null, "backend: expected a string, got null"],
	[true, "backend: expected a string, got true"],
	[["native"], "backend: expected a string, got"],
];

for (const [backend, message] of refused) {
	test(`configure refuses ${message}`, () => {
		const before = status();
		assert.throws(
			() => configure({ embedder: "off", backend }),
			(error) => {
				assert.deepEqual([error.code, error.path], ["INVALID_OPTION", "backend"]);
				return error.message.startsWith(message);
			},
		);
		assert.deepEqual(status(), before, "nothing is changed");
	});
}

test("configure changes the backend, and status reports it", (t) => {
	t.after(() => configure({ backend: "onnx", precision: "exact" }));
	const { embedder } = status();
	configure({ backend: "native", precision: "fast" });
	const without = { library: null, libraryVersion: null };
	const native = { ...embedder, ...without, backend: "native" };
	const changed = { ...native, precision: "fast" };
	assert.deepEqual(status().embedder, changed);
	configure({ backend: undefined });
	assert.deepEqual(status().embedder, changed);
	configure({ backend: "onnx" });
	assert.deepEqual(status().embedder, changed, "fast is native");
	configure({ precision: "exact" });
	assert.deepEqual(status().embedder, embedder);
});

const told = ({ scoring }) => {
	const { backend, precision, library } = scoring.status().embedder;
	return [backend, precision, library === null];
};

const rows = [
	["native", "exact", ["native", "exact", true]],
	["native", "fast", ["native", "fast", true]],
	["onnx", "exact", ["onnx", "exact", false]],
	["onnx", "fast", ["native", "fast", true]],
	["", "exact", ["onnx", "exact", false]],
];

for (const [value, precision, found] of rows) {
	test(`${VARIABLE}=${value} selects ${found[0]}, ${precision}`, async () => {
		const env = { [VARIABLE]: value, KNOWLEDGEPULSE_SCORING_PRECISION: precision };
		assert.deepEqual(await valueFrom(told, { env }), found);
	});
}

for (const value of ["onnxruntime", "NATIVE", " native"]) {
	test(`${VARIABLE}=${value} is an error until a backend is configured`, async () => {
		const body = async ({ scoring, input }) => {
			const calls = [
				() => scoring.evaluateValue(input),
				() => scoring.warmup(),
				async () => scoring.status(),
			];
			const errors = [];
			for (const change of [{}, { precision: "exact" }]) {
				scoring.configure(change);
				for (const call of calls) {
					const { code, path, message } = await call().catch((e) => e);
					errors.push([code, path, message].join("; "));
				}
			}
			scoring.configure({ backend: "native" });
			await scoring.evaluateValue(input);
			return [errors, scoring.status().cacheSize];
		};
		const env = { [VARIABLE]: value };
		const message = `${VARIABLE}: ${expected} ${JSON.stringify(value)}`;
		const error = `INVALID_OPTION; ${VARIABLE}; ${message}`;
		assert.deepEqual(await valueFrom(body, { input: trace(), env }), [Array(6).fill(error), 1]);
	});
}
