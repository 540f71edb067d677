/** Order, atomicity and repetition of what is appended. */
const assert = require("node:assert/strict");
const {
	EMBEDDING_BYTES,
	METHODS,
	add,
	adds,
	bytes,
	bytesOf,
	callsOf,
	clear,
	forget,
	inSteps,
	options,
} = require("./fixture.js");

/** Ids that a store might change or confuse. */
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

/** Embeddings that a store of numbers would change: NaN with payloads, -0, subnormal numbers. */
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

/** Each gets a fixture, and two readers with handles of their own. */
exports.rules = {
	"append numbers entries from 1 in their order": inSteps(() =>
		[1, 2, 64, 1].map((size) => ["reader", adds(size)]),
	),

	"append keeps kind and id of every entry": inSteps(() => [
		["reader", [...IDS.flatMap((id) => [add(id), forget(`other ${id}`)]), add(null)]],
		["reader", [clear()]],
	]),

	async "append keeps every bit of an embedding"({ fixture, reader }) {
		const given = embeddings();
		const expected = given.map(bytesOf);
		await reader.append(given.map((embedding) => add(null, embedding)));
		assert.deepEqual(given.map(bytesOf), expected, "the caller's own");
		await fixture.complete();
	},

	async "append keeps embeddings of any length that a model has"({ fixture }) {
		for (const length of [4, 400, 3072, 4096, 8188, 16_384]) {
			const namespace = `${fixture.namespace} ${length}`;
			const [one, other] = [await fixture.reader(namespace), await fixture.reader(namespace)];
			const [first, ...more] = Array.from({ length: 43 }, () => add("0", bytes(length)));
			await one.append([first, forget("0"), ...more]);
			await other.read({ limit: 5 });
			await fixture.complete(namespace);
		}
	},

	"append returns what others have appended since, then its own": inSteps(() =>
		["one", "other", "one"].map((name) => [name, adds(3)]),
	),

	async "append leaves to read what does not fit in its page"({ fixture, one, other }) {
		await one.append(adds(5));
		const page = await other.append(adds(4), { limit: 3 });
		assert.equal(page.head, 9);
		await fixture.complete();
	},

	"append adds a call once, however often it is repeated": inSteps(() => {
		const entries = [add("a"), forget("b"), add("a")];
		const again = [entries, entries.slice(1, 2)];
		// The last reader has lost the answer, and does not know its own entries.
		const readers = ["one", "other", "last"];
		return [
			["one", entries],
			["other", adds(2)],
			...readers.flatMap((name) => again.map((repeated) => [name, repeated])),
		];
	}),

	"append adds the new entries of a batch that it has in part": inSteps(() => {
		const [a, b, c, d] = adds(4);
		return [
			["reader", [a, b]],
			["reader", [b, c]],
			["reader", [a, d, c]],
		];
	}),

	"append adds a repeated clear or forget once": inSteps(() => {
		const [erase, forgotten] = [clear(), forget("0")];
		const batches = [adds(2), [erase, add("0"), forgotten], [add("0")], [erase], [forgotten]];
		return batches.map((batch) => ["reader", batch]);
	}),

	async "append is atomic beside the calls of other handles"({ fixture }) {
		const batches = Array.from({ length: 40 }, () => adds(7));
		const handles = await fixture.handles(8);
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

	async "append gives all handles one order"({ fixture }) {
		const readers = [];
		for (let i = 0; i < 6; i++) readers.push(await fixture.reader());
		await Promise.all(
			readers.map(async (reader, i) => {
				for (let turn = 0; turn < 25; turn++)
					await reader.append(adds(1 + ((turn + i) % 3)), { limit: 1 + ((5 * turn + i) % 20) });
			}),
		);
		const calls = callsOf(await fixture.complete());
		for (const reader of readers) {
			await reader.read();
			assert.deepEqual(reader.calls, calls);
		}
	},

	async "append adds a call once that several handles send at once"({ fixture }) {
		const entries = adds(3);
		const handles = await fixture.handles(6);
		await Promise.all(handles.map((store) => store.append(entries, options({ keepFrom: null }))));
		assert.deepEqual(callsOf(await fixture.entries()), callsOf(entries));
	},

	async "append and read create a namespace once"({ fixture }) {
		const handles = await fixture.handles(8);
		const pages = await Promise.all(handles.map((store, i) => METHODS[i % 2](store, options())));
		assert.equal(new Set(pages.map(({ epoch }) => epoch)).size, 1);
		assert.equal((await fixture.entries()).length, 4);
	},
};
