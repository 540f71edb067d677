import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { conformance } from "@knowledgepulse/scoring-stores/conformance";
import { ComparingLog } from "./comparing-log.mjs";
import { MemoryLog, MemoryStore } from "./memory-log.mjs";

/** Returns the checks, over logs of one class in one store. */
function checksOf(Log) {
	const store = new MemoryStore();
	const age = (namespace, ms) => {
		for (const entry of store.namespaces.get(namespace).entries) entry.at -= ms;
	};
	const open = ({ namespace }) => new Log({ store, namespace });
	return conformance(open, { age });
}

for (const { name, run } of checksOf(MemoryLog)) test(`MemoryLog: ${name}`, run);

/** Returns the checks of `compare`, over logs of one class in one store. */
function comparisonsOf(Log) {
	const store = new MemoryStore();
	const open = ({ namespace }) => new Log({ store, namespace });
	return conformance(open, { compare: true });
}

for (const { name, run } of comparisonsOf(ComparingLog)) test(`ComparingLog: ${name}`, run);

/** Returns a class whose calls change what `append` was given or what any page has. */
function broken({ before = (call) => call, after = (page) => page }) {
	return class extends MemoryLog {
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

/** Logs that break a rule, and a check that must notice it. */
const BROKEN = {
	"leaves a gap": [
		broken({
			after: changed(({ seq }) => ({ seq: seq > 3n ? seq + 1n : seq })),
		}),
		"append numbers entries from 1 in their order",
	],
	"adds a repeated call again": [
		class extends MemoryLog {
			append(entries, options) {
				const again = entries.map((entry) => ({
					...entry,
					call: randomUUID(),
				}));
				return super.append(again, options);
			}
		},
		"append adds a call once, however often it is repeated",
	],
	"ignores a call that is repeated with new ones": [
		class extends MemoryLog {
			append(entries, options) {
				const { entries: found } = this.find(options);
				const isKnown = entries.some((e) => found.some(({ call }) => call === e.call));
				return super.append(isKnown ? [] : entries, options);
			}
		},
		"append adds the new entries of a batch that it has in part",
	],
	"takes entries one by one": [
		class extends MemoryLog {
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
		class extends MemoryLog {
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
		class extends MemoryLog {
			async read(options) {
				const log = this.find(options);
				if (options.after && options.after.epoch !== log.epoch) log.epoch = randomUUID();
				return super.read(options);
			}
		},
		"read and append start again from a position in another epoch",
	],
	"goes on from any position": [
		broken({
			after: (page, { after }) => ({ ...page, reset: after === null }),
		}),
		"read and append start again from a position in another epoch",
	],
	"has one namespace": [
		class extends MemoryLog {
			constructor(options) {
				super({
					...options,
					namespace: options.namespace.trim().toLowerCase(),
				});
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
		broken({
			after: changed(({ id }) => ({ id: id?.split("\0")[0] ?? null })),
		}),
		"append keeps kind and id of every entry",
	],
	"stores no empty id": [
		broken({ after: changed(({ id }) => ({ id: id || null })) }),
		"append keeps kind and id of every entry",
	],
	"gives pages of any length": [
		broken({
			before: ({ entries, options }) => ({
				entries,
				options: { ...options, limit: 1e9 },
			}),
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
		class extends MemoryLog {
			remove(log, call) {
				const { kind } = log.entries.find((entry) => entry.call === call);
				if (kind === "clear") super.remove(log, call);
			}
		},
		"append of a forget erases the embeddings of earlier adds with its id",
	],
	"keeps what is cleared": [
		class extends MemoryLog {
			remove() {}
		},
		"append of a clear deletes all entries before it",
	],
	"deletes young entries": [
		class extends MemoryLog {
			trim(log, keepFrom) {
				if (keepFrom !== null) log.entries.splice(0, log.entries.length - 1);
			}
		},
		"append deletes no entry that is younger than a minute",
	],
	"never deletes old entries": [
		class extends MemoryLog {
			trim() {}
		},
		"append deletes entries before keepFrom, oldest first",
	],
	"deletes the newest entry": [
		class extends MemoryLog {
			trim(log, keepFrom) {
				if (keepFrom === null) return;
				log.entries = log.entries.filter(({ at }) => at >= Date.now() - 60_000);
			}
		},
		"append never deletes the newest entry",
	],
	"lets time go back": [
		broken({
			after: changed(({ seq, at }) => ({ at: at - Number(seq) * 1e6 })),
		}),
		"append numbers entries from 1 in their order",
	],
	"ignores signals": [
		broken({
			before: ({ entries, options }) => ({
				...{
					entries,
					options: { ...options, signal: new AbortController().signal },
				},
			}),
		}),
		"calls with an aborted signal reject and add nothing",
	],
	"stays open": [
		class extends MemoryLog {
			async close() {}
		},
		"close makes later calls reject",
	],
};

for (const [what, [Log, noticing]] of Object.entries(BROKEN))
	test(`conformance notices a log that ${what}`, async () => {
		const check = checksOf(Log).find(({ name }) => name === noticing);
		await assert.rejects(check.run(), { code: "ERR_ASSERTION" });
	});

/** Comparing logs that break a rule, and a check that must notice it. */
const BROKEN_COMPARISONS = {
	"compares with all that it has": [
		class extends ComparingLog {
			compare(entries, options) {
				const header = { ...options.header, maxElements: 1000 };
				return super.compare(entries, { ...options, header });
			}
		},
		"compare sees the last maxElements traces",
	],
	"compares before it waits": [
		class extends ComparingLog {
			async compare(entries, options) {
				const peeks = entries.map((entry) => ({ ...entry, kind: "peek" }));
				const found = await super.compare(peeks, options);
				await setImmediate();
				await super.compare(entries, options);
				return found;
			}
		},
		"compare calls one new trace new once, whoever sends it",
	],
	"finds a repeated call itself": [
		class extends ComparingLog {
			async compare(entries, options) {
				await super.compare(entries, options);
				const peeks = entries.map((entry) => ({
					...entry,
					kind: "peek",
					call: null,
				}));
				return super.compare(peeks, options);
			}
		},
		"compare answers a repeated call as it did before",
	],
};

for (const [what, [Log, noticing]] of Object.entries(BROKEN_COMPARISONS))
	test(`conformance notices a comparing log that ${what}`, async () => {
		const check = comparisonsOf(Log).find(({ name }) => name === noticing);
		await assert.rejects(check.run(), { code: "ERR_ASSERTION" });
	});
