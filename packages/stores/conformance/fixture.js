/** Shared by the checks: handles on the store, entries, and readers that check every page. */
const assert = require("node:assert/strict");
const { randomBytes, randomUUID } = require("node:crypto");
const { checkPage, packPage } = require("@knowledgepulse/scoring/internal/page");

/** The size of the built-in model's embeddings. */
const EMBEDDING_BYTES = 1536;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

const HEADER = { model: "conformance", maxElements: 1000, ttlMs: null };

/** Any bytes: a store does not read them as numbers, and some of these are NaN. */
const bytes = (count = EMBEDDING_BYTES) => new Uint8Array(randomBytes(count));

const add = (id = null, embedding = bytes()) => ({
	kind: "add",
	call: randomUUID(),
	id,
	embedding,
});
const forget = (id) => ({ kind: "forget", call: randomUUID(), id });
const clear = () => ({ kind: "clear", call: randomUUID() });
const isClear = ({ kind }) => kind === "clear";
const adds = (count) => Array.from({ length: count }, (_, i) => add(String(i)));

const callsOf = (entries) => entries.map(({ call }) => call);

/** Options of a call, with a signal of its own. */
const options = (changes) => ({
	header: HEADER,
	after: null,
	limit: 1000,
	signal: new AbortController().signal,
	...changes,
});

/** The two ways to read the entries after a position. */
const METHODS = [
	(store, call) => store.read(call),
	(store, call) => store.append([add()], { ...call, keepFrom: null }),
];

/** Buffers and arrays of bytes, comparable. */
const bytesOf = (embedding) => embedding && Uint8Array.from(embedding);

const positionOf = ({ epoch }, { seq, call }) => ({ epoch, seq, call });

/** The expected contents of a namespace: the entries that readers sent, in the order of the first page with them. */
class Model {
	/** Entries by call. */
	sent = new Map();
	/** Calls by `seq`. */
	calls = [undefined];
	epochs = new Set();
	/** The `seq` of the newest clear, and of the newest forget of each id. */
	cleared = 1;
	#forgotten = new Map();

	/** Checks the page of an `append` of entries, or of a `read`, which has none. */
	check({ epoch, first, entries }, appended) {
		// Another history.
		if (!this.epochs.has(epoch)) this.calls = [undefined];
		this.epochs.add(epoch);
		for (const { seq, kind, call, id } of entries) {
			this.calls[seq] ??= call;
			assert.equal(call, this.calls[seq], `call of entry ${seq}`);
			const sent = this.sent.get(call) ?? { kind, id };
			assert.deepEqual([kind, id], [sent.kind, sent.id ?? null], `kind and id of entry ${seq}`);
			if (kind === "clear") this.cleared = Math.max(seq, this.cleared);
			if (kind === "forget") this.#forgotten.set(id, seq);
		}
		for (const entry of entries) this.#checkEmbedding(entry, appended);
		// A page of `append` may be older than its entries.
		if (appended.length === 0) assert.ok(first >= this.cleared, "entries before a clear");
	}

	#checkEmbedding({ seq, kind, call, id, embedding }, appended) {
		const sent = this.sent.get(call);
		if (kind !== "add" || sent === undefined) return;
		const isErased = this.#forgotten.get(id) > seq;
		if (embedding !== null) {
			assert.deepEqual(bytesOf(embedding), bytesOf(sent.embedding), `embedding of entry ${seq}`);
			assert.ok(!isErased || appended.length > 0, `entry ${seq} is forgotten`);
		} else assert.ok(isErased || appended.includes(sent), `entry ${seq} has no embedding`);
	}
}

/** The handles of one check, on a namespace of its own. */
class Fixture {
	#open;
	#age;
	#handles = [];
	#models = new Map();
	namespace = `conformance ${randomUUID()}`;

	constructor(open, age) {
		this.#open = open;
		this.#age = age;
	}

	async open(namespace = this.namespace) {
		const store = await this.#open({ namespace });
		this.#handles.push(store);
		return store;
	}

	/** Returns a number of handles. */
	async handles(count) {
		const handles = [];
		while (handles.length < count) handles.push(await this.open());
		return handles;
	}

	/** Returns a reader with a handle of its own. Readers of a namespace share a model. */
	async reader(namespace = this.namespace) {
		if (!this.#models.has(namespace)) this.#models.set(namespace, new Model());
		return new Reader(await this.open(namespace), this.#models.get(namespace));
	}

	/** Returns the entries as a new process sees them. */
	async entries(namespace) {
		const reader = await this.reader(namespace);
		await reader.read();
		return reader.entries;
	}

	/** Returns these entries. Fails unless they are all those sent since the last clear. */
	async complete(namespace) {
		const entries = await this.entries(namespace);
		const { calls, cleared, sent, epochs } = this.#models.get(namespace ?? this.namespace);
		assert.deepEqual(callsOf(entries), calls.slice(cleared), "calls");
		assert.equal(calls.length - 1, sent.size, "number of entries");
		assert.equal(epochs.size, 1, "number of epochs");
		return entries;
	}

	async age(ms) {
		await this.#age(this.namespace, ms);
	}

	async close() {
		await Promise.all(this.#handles.map((store) => store.close()));
	}
}

/** Follows a store as a scorer does, and checks every page. */
class Reader {
	#model;
	/** The position of the last entry read. */
	after = null;
	/** All entries since the last reset. */
	entries = [];

	constructor(store, model = new Model()) {
		this.store = store;
		this.#model = model;
	}

	/** Appends entries, then reads to the newest one. Returns the page of `append`. */
	async append(entries, { keepFrom = null, limit = 1000 } = {}) {
		const { sent } = this.#model;
		const added = entries.filter(({ call }) => !sent.has(call));
		for (const entry of added) sent.set(entry.call, entry);
		const call = options({ after: this.after, limit, keepFrom });
		const page = await this.store.append(entries, call);
		this.#take(page, limit, entries);
		if (!this.#isAt(page)) await this.read({ limit });
		// Entries before a clear may never have been seen.
		const calls = callsOf(added.slice(Math.max(0, added.findLastIndex(isClear))));
		const start = this.#model.calls.indexOf(calls[0]);
		assert.deepEqual(this.#model.calls.slice(start, start + calls.length), calls, "the new calls");
		return page;
	}

	/** Reads to the newest entry. Returns the pages. */
	async read({ limit = 1000 } = {}) {
		const pages = [];
		do {
			pages.push(await this.store.read(options({ after: this.after, limit })));
			this.#take(pages.at(-1), limit, []);
		} while (!this.#isAt(pages.at(-1)));
		return pages;
	}

	get calls() {
		return callsOf(this.entries);
	}

	#isAt({ head }) {
		return (this.after?.seq ?? 0) === head;
	}

	#take(page, limit, appended) {
		checkAfter(page, this.after, limit);
		this.#model.check(page, appended);
		if (page.reset) {
			this.entries = [];
			this.after = null;
		}
		this.entries.push(...page.entries);
		checkOrder(this.entries);
		const last = page.entries.at(-1);
		if (last) this.after = positionOf(page, last);
	}
}

/** Checks every page as a scorer does, and that it continues after a position. */
function checkAfter(page, after, limit) {
	assert.doesNotThrow(() => packPage(checkPage(page, HEADER), new Map()));
	const { epoch, head, first, reset, entries } = page;
	assert.match(epoch, UUID, "epoch");
	assert.ok(first <= head + 1, `first: ${first}`);
	if (after === null) assert.ok(reset, "reset without a position");
	else if (epoch === after.epoch && after.seq >= first) assert.ok(!reset, "reset for no reason");
	for (const { kind, embedding } of entries)
		assert.ok(kind === "add" || embedding === null, `embedding of a ${kind}`);
	assert.ok(entries.length <= limit, `${entries.length} entries of ${limit}`);
	const last = entries.at(-1)?.seq ?? (reset ? 0 : after.seq);
	if (entries.length < limit) assert.equal(last, head, "the newest entry");
	assert.ok(last <= head, "entries beyond head");
	if (reset && entries.length > 0) assert.equal(entries[0].seq, first, "first");
	if (reset) return;
	assert.equal(epoch, after.epoch, "epoch without reset");
	if (entries.length > 0) assert.equal(entries[0].seq, after.seq + 1, "seq after the position");
}

function checkOrder(entries) {
	for (let i = 1; i < entries.length; i++) {
		assert.equal(entries[i].seq, entries[i - 1].seq + 1, "seq without gaps");
		assert.ok(entries[i].at >= entries[i - 1].at, "at goes back");
	}
}

/**
 * A rule in steps, each of which names a reader and what it appends, with changed options; without entries it reads.
 * After each, all that was sent must be there.
 */
function inSteps(steps) {
	return async ({ fixture, ...readers }) => {
		for (const [name, entries, changes] of steps()) {
			readers[name] ??= await fixture.reader();
			await (entries ? readers[name].append(entries, changes) : readers[name].read());
			await fixture.complete();
		}
	};
}

module.exports = {
	EMBEDDING_BYTES,
	HEADER,
	METHODS,
	Reader,
	Fixture,
	add,
	adds,
	bytes,
	bytesOf,
	callsOf,
	clear,
	forget,
	inSteps,
	options,
	positionOf,
};
