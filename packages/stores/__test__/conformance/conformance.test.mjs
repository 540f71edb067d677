import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { conformance } from "@knowledgepulse/scoring-stores/conformance";
import { MemoryStore } from "./memory-store.mjs";

/** Returns the checks for stores that `make` makes, which share their namespaces. */
function checksOf(make) {
	const namespaces = new Map();
	const age = (namespace, ms) => {
		for (const entry of namespaces.get(namespace).entries) entry.at -= ms;
	};
	return conformance(({ namespace }) => make({ namespaces, namespace }), { age });
}

for (const { name, run } of checksOf((options) => new MemoryStore(options)))
	test(`MemoryStore: ${name}`, run);

/** A store that changes the parameters of `append` and `read`, or their pages. */
class Changing extends MemoryStore {
	async append(entries, options) {
		return this.after(await super.append(entries, await this.before(options)), options);
	}

	async read(options) {
		return this.after(await super.read(await this.before(options)), options);
	}

	before(options) {
		return options;
	}

	after({ entries, ...page }) {
		return { ...page, entries: entries.map((entry) => ({ ...entry, ...this.change(entry) })) };
	}

	change() {}
}

/** The checks that must notice stores which break a rule, and the methods of these stores. */
const BROKEN = {
	"append numbers entries from 1 in their order": {
		"leaves a gap": { change: ({ seq }) => ({ seq: seq > 3 ? seq + 1 : seq }) },
		"lets time go back": { change: ({ seq, at }) => ({ at: at - seq * 1e6 }) },
	},
	"append adds a call once, however often it is repeated": {
		"adds a repeated call again": {
			append(entries, options) {
				const again = entries.map((entry) => ({ ...entry, call: randomUUID() }));
				return super.append(again, options);
			},
		},
		"ignores a call that is repeated with new ones": {
			append(entries, options) {
				const { entries: found } = this.find(options);
				const isKnown = entries.some((e) => found.some(({ call }) => call === e.call));
				return super.append(isKnown ? [] : entries, options);
			},
		},
	},
	"append is atomic, and gives all handles one order": {
		"takes entries one by one": {
			async append(entries, options) {
				for (const entry of entries) {
					await super.append([entry], options);
					await setImmediate();
				}
				return super.append([], options);
			},
		},
	},
	"read and append take a new epoch where an entry is not what it was": {
		"keeps its epoch after a loss": {
			async read(options) {
				const { epoch } = this.find(options);
				const page = await super.read(options);
				this.find(options).epoch = epoch;
				return { ...page, epoch };
			},
		},
	},
	"read and append start again from a position in another epoch": {
		"takes a new epoch for every position that it does not know": {
			async read(options) {
				const found = this.find(options);
				if (options.after && options.after.epoch !== found.epoch) found.epoch = randomUUID();
				return super.read(options);
			},
		},
		"goes on from any position": {
			after: (page, { after }) => ({ ...page, reset: after === null }),
		},
	},
	"read gives pages of at most limit entries": {
		"starts again without reason": { before: (options) => ({ ...options, after: null }) },
		"gives pages of any length": { before: (options) => ({ ...options, limit: 1e9 }) },
	},
	"read and append keep namespaces apart": {
		"has one namespace": {
			find(options) {
				this.namespace = this.namespace.trim().toLowerCase();
				return super.find(options);
			},
		},
	},
	"append keeps every bit of an embedding": {
		"stores embeddings as numbers": {
			change({ embedding }) {
				if (embedding === null) return {};
				const numbers = new Float32Array(embedding.slice().buffer).map((x) => x || 0);
				return { embedding: new Uint8Array(numbers.buffer) };
			},
		},
	},
	"append keeps kind and id of every entry": {
		"keeps no more of an id than a C string": {
			change: ({ id }) => ({ id: id?.split("\0")[0] ?? null }),
		},
		"stores no empty id": { change: ({ id }) => ({ id: id || null }) },
	},
	"read and append refuse another header": {
		"takes any header": {
			before(options) {
				this.find(options).header = options.header;
				return options;
			},
		},
		"refuses its header in another order": {
			before(options) {
				const { header } = this.find(options);
				const isSame = JSON.stringify(header) === JSON.stringify(options.header);
				return isSame ? options : { ...options, header: { ...options.header, model: "" } };
			},
		},
	},
	"append of a forget erases the embeddings of earlier adds with its id": {
		"keeps what is forgotten": {
			remove(found, call) {
				const { kind } = found.entries.find((entry) => entry.call === call);
				if (kind === "clear") super.remove(found, call);
			},
		},
	},
	"append of a clear deletes all entries before it": { "keeps what is cleared": { remove() {} } },
	"append deletes no entry that is younger than a minute": {
		"deletes young entries": {
			trim(found, keepFrom) {
				if (keepFrom !== null) found.entries.splice(0, found.entries.length - 1);
			},
		},
	},
	"append deletes entries before keepFrom, oldest first": {
		"never deletes old entries": { trim() {} },
	},
	"append never deletes the newest entry": {
		"deletes the newest entry": {
			trim(found, keepFrom) {
				if (keepFrom === null) return;
				found.entries = found.entries.filter(({ at }) => at >= Date.now() - 60_000);
			},
		},
	},
	"calls with an aborted signal reject and add nothing": {
		"ignores signals": {
			before: (options) => ({ ...options, signal: new AbortController().signal }),
		},
	},
	"close makes later calls reject": { "stays open": { async close() {} } },
};

for (const [noticing, stores] of Object.entries(BROKEN))
	for (const [what, methods] of Object.entries(stores))
		test(`conformance notices a store that ${what}`, async () => {
			// `super` in a method is the prototype of the object that has it.
			Object.setPrototypeOf(methods, Changing.prototype);
			const make = (options) => Object.setPrototypeOf(new MemoryStore(options), methods);
			const check = checksOf(make).find(({ name }) => name === noticing);
			await assert.rejects(check.run(), { code: "ERR_ASSERTION" });
		});
