/** First calls of an addon that gets no thread. Each runs in a process of its own. */

import { says } from "../../../__test__/support/traces.mjs";
import {
	MemoryLog,
	MemoryStore,
} from "../../../packages/stores/__test__/conformance/memory-log.mjs";

const trace = says("one river stone");
const messages = [
	{ role: "user", content: "Which ships call at Bergen?" },
	{ role: "assistant", content: "The coastal express." },
];
const source = { name: "run", data: messages };

export const CALLS = {
	evaluateValue: ({ evaluateValue }) => evaluateValue(trace),
	explainValue: ({ explainValue }) => explainValue(trace),
	"evaluateValue, remember: false": ({ evaluateValue }) =>
		evaluateValue(trace, { remember: false }),
	remember: ({ remember }) => remember(trace),
	embed: ({ embed }) => embed("a river"),
	warmup: ({ warmup }) => warmup(),
	evaluateValues: ({ evaluateValues }) => evaluateValues([trace]),
	forgetInStore: (scoring) => inStore(scoring).forget("x"),
	evaluateWithStore: (scoring) => inStore(scoring).evaluateValue(trace),
	snapshot: ({ Scorer }) => new Scorer().snapshot(),
	restore: ({ Scorer }) => Scorer.restore(new Uint8Array(100)),
	importTraces: ({ importTraces }) => importTraces(source, { assumeSuccess: true }).next(),
	fromMessages: ({ fromMessages }) => fromMessages(messages, { assumeSuccess: true }),
	evaluateJson: ({ evaluateJson }) => evaluateJson(source, { assumeSuccess: true }).next(),
	calibrate: ({ calibrate }) => calibrate([]),
	calibrationReport: ({ calibrationReport }) => calibrationReport({}, []),
};

function inStore({ Scorer }) {
	const store = new MemoryLog({ store: new MemoryStore(), namespace: "test" });
	return new Scorer({ store });
}

/** Returns how a call ends: the name and the code of its error. */
export async function callOnce(_, { entry, call }) {
	const scoring = await import(entry);
	return CALLS[call](scoring).then(
		() => "no error",
		({ name, code }) => `${name} ${code}`,
	);
}
