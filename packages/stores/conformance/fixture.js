/** Shared by the checks: entries, calls, namespaces with their expected contents, and readers that check every page. */
const assert = require("node:assert/strict");
const { randomBytes, randomUUID } = require("node:crypto");
const { checkPage, packPage } = require("@knowledgepulse/scoring/internal/page");

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

const HEADER = { model: "conformance", maxElements: 1000, ttlMs: null };

/** Any bytes, which may be NaN as numbers; by default as many as the built-in model gives. */
const bytes = (count = 1536) => new Uint8Array(randomBytes(count));

const entry = (kind, fields) => ({ kind, call: randomUUID(), ...fields });
const add = (id = null, embedding = bytes()) => entry("add", { id, embedding });
const adds = (count) => Array.from({ length: count }, (_, i) => add(String(i)));
const forget = (id) => entry("forget", { id });
const clear = () => entry("clear");

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
	(store, changes) => store.read(options(changes)),
	(store, changes) => store.append([add()], options({ keepFrom: null, ...changes })),
];

/** Buffers and arrays of bytes, comparable. */
const bytesOf = (embedding) => embedding && Uint8Array.from(embedding);

const isClear = ({ kind }) => kind === "clear";

const positionOf = ({ epoch }, { seq, call }) => ({ epoch, seq, call });

/** A namespace. It must contain what readers sent, in the order of the first page with an entry. */
class Fixture {
	#store;
	#readers = {};
	/** Entries by call, and calls by `seq`. */
	sent = new Map();
	calls = [undefined];
	/** All epochs, the newest last, and how many there must be. */
	epochs = [];
	expectedEpochs = 1;
	/** The `seq` of the oldest entry that must be there, and of the newest forget of each id. */
	first = 1;
	#forgotten = new Map();

	/** `store` has the parameters of `conformance`, and all `handles` that are open. */
	constructor(store, namespace = `conformance ${randomUUID()}`) {
		this.#store = store;
		this.namespace = namespace;
	}

	in(namespace) {
		return new Fixture(this.#store, namespace);
	}

	async open() {
		const store = await this.#store.open({ namespace: this.namespace });
		this.#store.handles.push(store);
		return store;
	}

	async reader(name) {
		this.#readers[name] ??= new Reader(await this.open(), this);
		return this.#readers[name];
	}

	/** Returns eight readers, two on each handle. */
	async readers() {
		const readers = [];
		for (let handles = 0; handles < 4; handles++) {
			const store = await this.open();
			readers.push(new Reader(store, this), new Reader(store, this));
		}
		return readers;
	}

	/**
	 * Runs steps, each of which names a reader and what it appends, with changed options; without entries it reads.
	 * After each, the namespace must be complete.
	 */
	async run(steps) {
		for (const [name, entries, changes] of steps) {
			const reader = await this.reader(name);
			await (entries ? reader.append(entries, changes) : reader.read(changes));
			await this.complete();
		}
	}

	/** Returns the entries as others see them. */
	async entries() {
		const { store } = await this.reader("observer");
		const reader = new Reader(store, this);
		await reader.read();
		return reader.entries;
	}

	/** Fails unless all is there that was sent, and not deleted. */
	async complete() {
		const entries = await this.entries();
		assert.deepEqual(callsOf(entries), this.calls.slice(this.first), "calls");
		assert.equal(this.calls.length - 1, this.sent.size, "number of entries");
		assert.equal(this.epochs.length, this.expectedEpochs, "number of epochs");
	}

	/** Checks the contents of a page of an `append` of entries, or of a `read`, which has none. */
	check({ epoch, first, entries }, appended) {
		if (epoch !== this.epochs.at(-1)) {
			assert.ok(!this.epochs.includes(epoch), "an earlier epoch");
			this.epochs.push(epoch);
			this.calls = [undefined];
		}
		for (const { seq, kind, call, id } of entries) {
			this.calls[seq] ??= call;
			assert.equal(call, this.calls[seq], `call of entry ${seq}`);
			const sent = this.sent.get(call) ?? { kind, id };
			assert.deepEqual([kind, id], [sent.kind, sent.id ?? null], `kind and id of entry ${seq}`);
			if (kind === "clear") this.first = Math.max(seq, this.first);
			if (kind === "forget") this.#forgotten.set(id, seq);
		}
		for (const entry of entries) this.#checkEmbedding(entry, appended);
		// A page of `append` may be older than its entries.
		if (appended.length === 0) assert.ok(first >= this.first, "deleted entries");
	}

	#checkEmbedding({ seq, kind, call, id, embedding }, appended) {
		const sent = this.sent.get(call);
		const isErased = kind !== "add" || this.#forgotten.get(id) > seq;
		if (sent && (embedding !== null || !(isErased || appended.includes(sent))))
			assert.deepEqual(bytesOf(embedding), bytesOf(sent.embedding), `embedding of entry ${seq}`);
		if (kind !== "add" || (isErased && appended.length === 0))
			assert.equal(embedding, null, `embedding of entry ${seq}, a ${kind} or forgotten`);
	}

	async age(ms) {
		await this.#store.age(this.namespace, ms);
	}
}

/** Follows a store as a scorer does, and checks every page. */
class Reader {
	#fixture;
	after = null;
	/** All entries since the last reset. */
	entries = [];

	constructor(store, fixture = new Fixture()) {
		this.store = store;
		this.#fixture = fixture;
	}

	/** Appends entries, then reads to the newest one. Returns the page of `append`. */
	async append(entries, { keepFrom = null, ...changes } = {}) {
		const { sent } = this.#fixture;
		const added = entries.filter(({ call }) => !sent.has(call));
		for (const entry of added) sent.set(entry.call, entry);
		const send = (call) => this.store.append(entries, { ...call, keepFrom });
		const page = await this.#follow(send, changes, entries);
		// Entries before a clear may never have been seen.
		const kept = added.slice(Math.max(0, added.findLastIndex(isClear)));
		const { calls } = this.#fixture;
		const start = calls.indexOf(kept[0]?.call);
		const end = start + kept.length;
		assert.deepEqual(calls.slice(start, end), callsOf(kept), "the new calls");
		assert.ok(page.head >= end - 1, "head before the new entries");
		return page;
	}

	async read(changes) {
		await this.#follow((call) => this.store.read(call), changes, []);
	}

	/** Makes a call, by default from the last entry, then reads to the newest one. Returns the page of the call. */
	async #follow(send, { after, ...changes } = {}, appended) {
		// The store must take a new epoch, because in the newest one it has another entry there.
		if (after && !after.epoch) this.#fixture.expectedEpochs += 1;
		const call = options({ after: after ? { ...this.after, ...after } : this.after, ...changes });
		const page = await send(call);
		this.#check(page, call);
		this.#fixture.check(page, appended);
		if (page.reset) this.entries = [];
		this.entries.push(...page.entries);
		const last = this.entries.at(-1);
		this.after = last ? positionOf(page, last) : null;
		if ((last?.seq ?? 0) < page.head) await this.read({ limit: call.limit });
		return page;
	}

	/** Checks a page as a scorer does, and that it continues after a position. */
	#check(page, { after, limit }) {
		assert.doesNotThrow(() => packPage(checkPage(page, HEADER), new Map()));
		const { epoch, head, first, reset, entries } = page;
		assert.match(epoch, UUID, "epoch");
		assert.ok(first <= Math.max(head, 1), `first: ${first}`);
		if (after === null) assert.ok(reset, "reset without a position");
		else if (!reset) assert.equal(epoch, after.epoch, "epoch without reset");
		else assert.ok(epoch !== after.epoch || after.seq < first, "reset for no reason");
		assert.ok(entries.length <= limit, `${entries.length} entries of ${limit}`);
		let last = reset ? { seq: first - 1, at: 0 } : this.entries.at(-1);
		for (const entry of entries) {
			assert.equal(entry.seq, last.seq + 1, "seq without gaps");
			assert.ok(entry.at >= last.at, "at goes back");
			last = entry;
		}
		assert.ok(last.seq <= head, "entries beyond head");
		if (entries.length < limit) assert.equal(last.seq, head, "the newest entry");
	}
}

module.exports = {
	Fixture,
	HEADER,
	METHODS,
	Reader,
	add,
	adds,
	bytes,
	bytesOf,
	callsOf,
	clear,
	forget,
	options,
	positionOf,
};
