/** What the checks share: handles on the store, entries, and readers that check every page. */
const assert = require("node:assert/strict");
const { randomBytes, randomUUID } = require("node:crypto");

/** Of the built-in model. */
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

/** Both ways to ask for what comes after a position, with options of a call. */
const METHODS = [
	(store, call) => store.read(call),
	(store, call) => store.append([add()], { ...call, keepFrom: null }),
];

/** The handles of one check, on a namespace of its own. */
class Fixture {
	#open;
	#age;
	#handles = [];
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

	/** Returns a reader with a handle of its own. */
	async reader(namespace) {
		return new Reader(await this.open(namespace));
	}

	/** Returns what the store has, as a new process sees it. */
	async entries(namespace) {
		const reader = await this.reader(namespace);
		await reader.read();
		return reader.entries;
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
	/** The last entry read, as the store wants it. */
	after = null;
	/** All entries since the last reset. */
	entries = [];

	constructor(store) {
		this.store = store;
	}

	/** Appends entries, then reads to the newest one. Returns the page of `append`. */
	async append(entries, { keepFrom = null, limit = 1000 } = {}) {
		const { after } = this;
		const call = options({ after, limit, keepFrom });
		const page = await this.store.append(entries, call);
		this.#take(page, limit);
		for (const { call, embedding } of page.entries) {
			const own = entries.find((entry) => entry.call === call);
			if (own && embedding) assert.deepEqual(bytesOf(embedding), bytesOf(own.embedding));
		}
		if (!this.#isAt(page)) await this.read({ limit });
		return page;
	}

	/** Reads to the newest entry. Returns the pages. */
	async read({ limit = 1000 } = {}) {
		const pages = [];
		do {
			const { after } = this;
			pages.push(await this.store.read(options({ after, limit })));
			this.#take(pages.at(-1), limit);
		} while (!this.#isAt(pages.at(-1)));
		return pages;
	}

	get calls() {
		return callsOf(this.entries);
	}

	#isAt({ head }) {
		return (this.after?.seq ?? 0) === head;
	}

	#take(page, limit) {
		checkPage(page, this.after, limit);
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

/** Buffers and arrays of bytes, comparable. */
const bytesOf = (embedding) => embedding && Uint8Array.from(embedding);

const positionOf = ({ epoch }, { seq, call }) => ({ epoch, seq, call });

/** Checks what holds for every page that answers the store's own header. */
function checkPage({ header, epoch, head, first, reset, entries }, after, limit) {
	assert.deepEqual({ ...header }, HEADER, "header");
	assert.match(epoch, UUID, "epoch");
	assert.ok(Number.isSafeInteger(head), `head: ${head}`);
	assert.ok(Number.isSafeInteger(first) && first >= 1 && first <= head + 1, `first: ${first}`);
	assert.equal(typeof reset, "boolean", "type of reset");
	if (after === null) assert.ok(reset, "reset without a position");
	for (const entry of entries) checkEntry(entry);

	assert.ok(entries.length <= limit, `${entries.length} entries of ${limit}`);
	const last = entries.at(-1)?.seq ?? (reset ? 0 : after.seq);
	if (entries.length < limit) assert.equal(last, head, "the newest entry");
	assert.ok(last <= head, "entries beyond head");
	if (reset && entries.length > 0) assert.equal(entries[0].seq, first, "first");
	if (reset) return;
	assert.equal(epoch, after.epoch, "epoch without reset");
	if (entries.length > 0) assert.equal(entries[0].seq, after.seq + 1, "seq after the position");
}

function checkEntry({ seq, at, kind, call, id, embedding }) {
	assert.ok(Number.isSafeInteger(seq), `seq: ${seq}`);
	assert.ok(Number.isSafeInteger(at), `at: ${at}`);
	assert.match(call, UUID, "call");
	assert.ok(["add", "forget", "clear"].includes(kind), `kind: ${kind}`);
	if (id !== null || kind === "forget") assert.equal(typeof id, "string", "type of id");
	if (embedding === null) return;
	assert.equal(kind, "add", "entry with an embedding");
	assert.ok(embedding instanceof Uint8Array, "type of embedding");
}

function checkOrder(entries) {
	for (let i = 1; i < entries.length; i++) {
		assert.equal(entries[i].seq, entries[i - 1].seq + 1, "seq without gaps");
		assert.ok(entries[i].at >= entries[i - 1].at, "at goes back");
	}
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
	options,
	positionOf,
};
