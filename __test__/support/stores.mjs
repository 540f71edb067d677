/** Scorers that share a store in memory, and failing stores. */
import { Scorer } from "@knowledgepulse/scoring";
import { MemoryStore } from "../../packages/stores/__test__/conformance/memory-store.mjs";
import { trace } from "./traces.mjs";

/** Makes the scorers and stores of a test, which share namespaces. */
export function sharing() {
	const namespaces = new Map();
	const open = () => new MemoryStore({ namespaces, namespace: "test" });
	return {
		namespaces,
		open,
		scorer: (options) => new Scorer({ store: open(), ...options }),
		/** A scorer whose calls of the store go {@link through} functions. */
		scorerThrough: (on, options) => new Scorer({ store: through(open(), on), ...options }),
	};
}

/** A trace of this name, whose objective is `text`. */
export function named(id, text = id) {
	return { ...trace({ objective: text }), id };
}

/** A store whose calls go through `on.append` and `on.read`, if defined, which get the real method. */
export function through(store, on) {
	const way =
		(method) =>
		(...parameters) => {
			const real = () => store[method](...parameters);
			return on[method] ? on[method](real, ...parameters) : real();
		};
	return { append: way("append"), read: way("read"), close: () => store.close() };
}
