/** Order, atomicity and repetition of what is appended. */
const assert = require("node:assert/strict");
const {
	EMBEDDING_BYTES,
	add,
	adds,
	bytes,
	bytesOf,
	callsOf,
	clear,
	forget,
	options,
} = require("./fixture.js");

/** Ids that a fixture may be tempted to change, or to take for one another. */
const IDS = [
	// Each character of these.
	...` aAåßſİi'"\\\n\0%_?0\u001a\u{10ffff}\u202e\ufeff\ufffd`,
	"",
	"a ",
	" a",
	"a\u030a",
	"ss",
	"''",
	"\\n",
	"a\0b",
	"a\0c",
	"{a,b}",
	'a"b\\',
	"\u001a0",
	"$1",
	"NULL",
	"null",
	"00",
	"1e3",
	"{}",
	"日本語",
	"👩‍🚀",
	"kp:trace:1",
	"'; DROP TABLE store; --",
	"x".repeat(1024),
	`${"x".repeat(1023)}y`,
	"é".repeat(512),
];

/** Embeddings that a fixture of numbers would change: NaN with payloads, -0, subnormal numbers. */
function embeddings() {
	const patterns = [
		[0, 0, 0, 0],
		[255, 255, 255, 255],
		[1, 0, 192, 127],
		[1, 0, 128, 127],
		[0, 0, 128, 255],
		[0, 0, 0, 128],
		[1, 0, 0, 0],
		[39, 92, 0, 34],
	];
	const repeated = (pattern) =>
		Uint8Array.from({ length: EMBEDDING_BYTES }, (_, i) => pattern[i % 4]);
	// Part of a larger buffer.
	const part = new Uint8Array(EMBEDDING_BYTES + 11).subarray(5, -6);
	part.set(bytes());
	return [...patterns.map(repeated), part, Buffer.from(bytes()), bytes()];
}

const entriesOf = (page) => page.entries.map(({ kind, id }) => [kind, id]);

exports.rules = {
	async "append numbers entries from 1 in their order"(fixture) {
		const reader = await fixture.reader();
		const calls = [];
		for (const size of [1, 2, 64, 1]) {
			const entries = adds(size);
			calls.push(...callsOf(entries));
			const page = await reader.append(entries);
			assert.deepEqual(callsOf(page.entries), callsOf(entries));
			assert.deepEqual([page.first, page.head], [1, calls.length]);
		}
		assert.equal(reader.entries[0].seq, 1);
		assert.deepEqual(reader.calls, calls);
		assert.deepEqual(callsOf(await fixture.entries()), calls);
	},

	async "append keeps kind and id of every entry"(fixture) {
		const reader = await fixture.reader();
		const entries = IDS.flatMap((id) => [add(id), forget(`other ${id}`)]);
		entries.push(add(null));
		const expected = entriesOf({ entries });
		assert.deepEqual(entriesOf(await reader.append(entries)), expected);
		assert.deepEqual(entriesOf({ entries: await fixture.entries() }), expected);

		await reader.append([clear()]);
		const [{ kind, id }] = await fixture.entries();
		assert.deepEqual([kind, id], ["clear", null]);
	},

	async "append keeps every bit of an embedding"(fixture) {
		const reader = await fixture.reader();
		const given = embeddings();
		const expected = given.map(bytesOf);
		const other = await fixture.reader();
		await reader.append(given.map((embedding) => add(null, embedding)));
		assert.deepEqual(given.map(bytesOf), expected, "the caller's own");
		await other.read();
		const found = other.entries.map(({ embedding }) => bytesOf(embedding));
		assert.deepEqual(found, expected);

		const page = await other.append([add()]);
		assert.equal(page.entries.length, 1);
	},

	async "append keeps embeddings of any length that a model has"(fixture) {
		for (const length of [4, 400, 3072, 4096, 8188, 16_384]) {
			const namespace = `${fixture.namespace} ${length}`;
			const [one, other] = [await fixture.reader(namespace), await fixture.reader(namespace)];
			const given = [...adds(3), forget("0"), ...adds(40)].map((entry) =>
				entry.kind === "add" ? { ...entry, embedding: bytes(length) } : entry,
			);
			await one.append(given);
			await other.read({ limit: 5 });
			const [, ...expected] = given.map(({ embedding }) => bytesOf(embedding));
			const found = other.entries.map(({ embedding }) => bytesOf(embedding));
			assert.deepEqual(found, [null, ...expected.map((bytes) => bytes ?? null)]);
		}
	},

	async "append returns what others have appended since, then its own"(fixture) {
		const [one, other] = [await fixture.reader(), await fixture.reader()];
		const [first, second, third] = [adds(2), adds(3), adds(1)];
		await one.append(first);
		const page = await other.append(second);
		assert.deepEqual(callsOf(page.entries), callsOf([...first, ...second]));
		const next = await one.append(third);
		assert.equal(next.reset, false);
		assert.deepEqual(callsOf(next.entries), callsOf([...second, ...third]));
		const embedding = bytesOf(next.entries[0].embedding);
		assert.deepEqual(embedding, second[0].embedding);
	},

	async "append leaves to read what does not fit in its page"(fixture) {
		const [one, other] = [await fixture.reader(), await fixture.reader()];
		const [first, second] = [adds(5), adds(4)];
		await one.append(first);
		const page = await other.append(second, { limit: 3 });
		assert.deepEqual(callsOf(page.entries), callsOf(first.slice(0, 3)));
		assert.equal(page.head, 9);
		assert.deepEqual(other.calls, callsOf([...first, ...second]));
	},

	async "append adds a call once, however often it is repeated"(fixture) {
		const [one, other] = [await fixture.reader(), await fixture.reader()];
		const entries = [add("a"), forget("b"), add("a")];
		await one.append(entries);
		await other.append(adds(2));
		const before = await fixture.entries();
		for (const reader of [one, other, await fixture.reader()])
			for (const repeated of [entries, entries.slice(1, 2)]) await reader.append(repeated);
		assert.deepEqual(await fixture.entries(), before);

		// A caller that lost the answer does not know of its own entries.
		const again = await fixture.reader();
		const page = await again.append(entries);
		assert.deepEqual(callsOf(page.entries).slice(0, 3), callsOf(entries));
		assert.equal(page.head, 5);
	},

	async "append adds the new entries of a batch that it has in part"(fixture) {
		const reader = await fixture.reader();
		const [a, b, c, d] = adds(4);
		await reader.append([a, b]);
		await reader.append([b, c]);
		await reader.append([a, d, c]);
		const expected = callsOf([a, b, c, d]);
		assert.deepEqual(callsOf(await fixture.entries()), expected);
	},

	async "append adds a repeated clear or forget once"(fixture) {
		const reader = await fixture.reader();
		const [erase, forgotten, kept] = [clear(), forget("0"), add("0")];
		await reader.append(adds(2));
		await reader.append([erase, add("0"), forgotten]);
		await reader.append([kept]);
		await reader.append([erase]);
		await reader.append([forgotten]);
		const entries = await fixture.entries();
		assert.equal(entries.length, 4);
		assert.deepEqual(bytesOf(entries.at(-1).embedding), kept.embedding);
	},

	async "append is atomic beside the calls of other handles"(fixture) {
		const batches = Array.from({ length: 40 }, () => adds(7));
		const handles = [];
		for (let i = 0; i < 8; i++) handles.push(await fixture.open());
		await Promise.all(
			batches.map((batch, i) =>
				handles[i % 8].append(batch, options({ limit: 1, keepFrom: null })),
			),
		);
		const calls = callsOf(await fixture.entries());
		assert.equal(calls.length, 280);
		for (const batch of batches) {
			const first = calls.indexOf(batch[0].call);
			assert.deepEqual(calls.slice(first, first + 7), callsOf(batch));
		}
	},

	async "append gives all handles one order"(fixture) {
		const readers = [];
		for (let i = 0; i < 6; i++) readers.push(await fixture.reader());
		const sent = [];
		await Promise.all(
			readers.map(async (reader, i) => {
				for (let turn = 0; turn < 25; turn++) {
					const entries = adds(1 + ((turn + i) % 3));
					sent.push(...callsOf(entries));
					await reader.append(entries, { limit: 1 + ((5 * turn + i) % 20) });
				}
			}),
		);
		const calls = callsOf(await fixture.entries());
		assert.deepEqual([...calls].sort(), sent.sort());
		for (const reader of readers) {
			await reader.read();
			assert.deepEqual(reader.calls, calls);
		}
	},

	async "append adds a call once that several handles send at once"(fixture) {
		const entries = adds(3);
		const handles = [];
		for (let i = 0; i < 6; i++) handles.push(await fixture.open());
		const call = () => options({ keepFrom: null });
		await Promise.all(handles.map((store) => store.append(entries, call())));
		assert.deepEqual(callsOf(await fixture.entries()), callsOf(entries));
	},

	async "append and read create a namespace once"(fixture) {
		const handles = [];
		for (let i = 0; i < 8; i++) handles.push(await fixture.open());
		const pages = await Promise.all(
			handles.map((store, i) =>
				i % 2 ? store.read(options()) : store.append([add()], options({ keepFrom: null })),
			),
		);
		assert.equal(new Set(pages.map(({ epoch }) => epoch)).size, 1);
		assert.equal((await fixture.entries()).length, 4);
	},
};
