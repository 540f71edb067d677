import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { conformance } from "@knowledgepulse/scoring-stores/conformance";
import { MemoryStore } from "./memory-store.mjs";

/** Returns the checks for stores of a class that share their namespaces. */
function checksOf(Store) {
	const namespaces = new Map();
	const age = (namespace, ms) => {
		for (const entry of namespaces.get(namespace).entries) entry.at -= ms;
	};
	return conformance(({ namespace }) => new Store({ namespaces, namespace }), { age });
}

for (const { name, run } of checksOf(MemoryStore)) test(`MemoryStore: ${name}`, run);

/** Returns a class that changes the arguments of `append` or the pages. */
function broken({ before = (call) => call, after = (page) => page }) {
	return class extends MemoryStore {
		async append(entries, options) {
			const call = await before.call(this, { entries, options });
			return after(await super.append(call.entries, call.options), options);
		}

		async read(options) {
			const call = await before.call(this, { entries: [], options });
			return after(await super.read(call.options), options);
		}
	};
}

const changed = (change) => (page) => ({
	...page,
	entries: page.entries.map((entry) => ({ ...entry, ...change(entry) })),
});

/** Stores that break a rule, and the check that must notice it. */
const BROKEN = {
	"leaves a gap": [
		broken({ after: changed(({ seq }) => ({ seq: seq > 3 ? seq + 1 : seq })) }),
		"append numbers entries from 1 in their order",
	],
	"adds a repeated call again": [
		class extends MemoryStore {
			append(entries, options) {
				const again = entries.map((entry) => ({ ...entry, call: randomUUID() }));
				return super.append(again, options);
			}
		},
		"append adds a call once, however often it is repeated",
	],
	"ignores a call that is repeated with new ones": [
		class extends MemoryStore {
			append(entries, options) {
				const { entries: found } = this.find(options);
				const isKnown = entries.some((e) => found.some(({ call }) => call === e.call));
				return super.append(isKnown ? [] : entries, options);
			}
		},
		"append adds the new entries of a batch that it has in part",
	],
	"takes entries one by one": [
		class extends MemoryStore {
			async append(entries, options) {
				for (const entry of entries) {
					await super.append([entry], options);
					await setImmediate();
				}
				return super.append([], options);
			}
		},
		"append is atomic beside the calls of other handles",
	],
	"keeps its epoch after a loss": [
		class extends MemoryStore {
			async read(options) {
				const { epoch } = this.find(options);
				const page = await super.read(options);
				this.find(options).epoch = epoch;
				return { ...page, epoch };
			}
		},
		"read and append take a new epoch where an entry is not what it was",
	],
	"takes a new epoch for every position that it does not know": [
		class extends MemoryStore {
			async read(options) {
				const found = this.find(options);
				if (options.after && options.after.epoch !== found.epoch) found.epoch = randomUUID();
				return super.read(options);
			}
		},
		"read and append start again from a position in another epoch",
	],
	"goes on from any position": [
		broken({ after: (page, { after }) => ({ ...page, reset: after === null }) }),
		"read and append start again from a position in another epoch",
	],
	"starts again without reason": [
		broken({
			before: ({ entries, options }) => ({ entries, options: { ...options, after: null } }),
		}),
		"read gives pages of at most limit entries",
	],
	"has one namespace": [
		class extends MemoryStore {
			constructor(options) {
				super({ ...options, namespace: options.namespace.trim().toLowerCase() });
			}
		},
		"read and append keep namespaces apart",
	],
	"stores embeddings as numbers": [
		broken({
			after: changed(({ embedding }) => {
				if (embedding === null) return {};
				const { buffer } = embedding.slice();
				const numbers = Array.from(new Float32Array(buffer), (x) => x || 0);
				return { embedding: new Uint8Array(Float32Array.from(numbers).buffer) };
			}),
		}),
		"append keeps every bit of an embedding",
	],
	"keeps no more of an id than a C string": [
		broken({ after: changed(({ id }) => ({ id: id?.split("\0")[0] ?? null })) }),
		"append keeps kind and id of every entry",
	],
	"stores no empty id": [
		broken({ after: changed(({ id }) => ({ id: id || null })) }),
		"append keeps kind and id of every entry",
	],
	"gives pages of any length": [
		broken({
			before: ({ entries, options }) => ({ entries, options: { ...options, limit: 1e9 } }),
		}),
		"read gives pages of at most limit entries",
	],
	"takes any header": [
		broken({
			before({ entries, options }) {
				this.find(options).header = options.header;
				return { entries, options };
			},
		}),
		"read and append refuse another header",
	],
	"keeps what is forgotten": [
		class extends MemoryStore {
			remove(found, call) {
				const { kind } = found.entries.find((entry) => entry.call === call);
				if (kind === "clear") super.remove(found, call);
			}
		},
		"append of a forget erases the embeddings of earlier adds with its id",
	],
	"keeps what is cleared": [
		class extends MemoryStore {
			remove() {}
		},
		"append of a clear deletes all entries before it",
	],
	"deletes young entries": [
		class extends MemoryStore {
			trim(found, keepFrom) {
				if (keepFrom !== null) found.entries.splice(0, found.entries.length - 1);
			}
		},
		"append deletes no entry that is younger than a minute",
	],
	"never deletes old entries": [
		class extends MemoryStore {
			trim() {}
		},
		"append deletes entries before keepFrom, oldest first",
	],
	"deletes the newest entry": [
		class extends MemoryStore {
			trim(found, keepFrom) {
				if (keepFrom === null) return;
				found.entries = found.entries.filter(({ at }) => at >= Date.now() - 60_000);
			}
		},
		"append never deletes the newest entry",
	],
	"lets time go back": [
		broken({ after: changed(({ seq, at }) => ({ at: at - seq * 1e6 })) }),
		"append numbers entries from 1 in their order",
	],
	"ignores signals": [
		broken({
			before: ({ entries, options }) => ({
				entries,
				options: { ...options, signal: new AbortController().signal },
			}),
		}),
		"calls with an aborted signal reject and add nothing",
	],
	"stays open": [
		class extends MemoryStore {
			async close() {}
		},
		"close makes later calls reject",
	],
};

for (const [what, [Store, noticing]] of Object.entries(BROKEN))
	test(`conformance notices a store that ${what}`, async () => {
		const check = checksOf(Store).find(({ name }) => name === noticing);
		await assert.rejects(check.run(), { code: "ERR_ASSERTION" });
	});
