/** Scorers that share a log in memory, and logs that go wrong. */
import { Scorer } from "@knowledgepulse/scoring";
import { MemoryLog, MemoryStore } from "../../packages/stores/__test__/conformance/memory-log.mjs";
import { trace } from "./traces.mjs";

/** Returns functions that make scorers and logs on one store. */
export function sharing() {
	const store = new MemoryStore();
	const log = () => new MemoryLog({ store, namespace: "test" });
	return { store, log, scorer: (options) => new Scorer({ store: log(), ...options }) };
}

/** A trace of this name, whose objective is `text`. */
export function named(id, text = id) {
	return { ...trace({ objective: text }), id };
}

/** A log whose calls go through `on.append`, `on.read`, where there is one, with the real one. */
export function through(log, on) {
	const way =
		(method) =>
		(...parameters) => {
			const real = () => log[method](...parameters);
			return on[method] ? on[method](real, ...parameters) : real();
		};
	return { append: way("append"), read: way("read"), close: () => log.close() };
}
