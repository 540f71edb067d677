/** Order, atomicity and repetition of what is appended. */
const assert = require("node:assert/strict");
const { LONGEST_ID: LONGEST } = require("@knowledgepulse/scoring/internal/options");
const { add, adds, bytes, bytesOf, clear, forget } = require("./fixture.js");

/** Ids that a store might change or confuse. */
const IDS = [
	// Each character of these.
	...` aAåßſİi'"\\\n\0%_?0\u001a\u{10ffff}\u202e\ufeff\ufffd`,
	...["", "a ", " a", "a\u030a", "ss", "''", "\\n", "a\0b", "a\0c", "{a,b}", 'a"b\\', "\u001a0"],
	...["$1", "NULL", "null", "00", "1e3", "{}", "日本語", "👩‍🚀", "kp:trace:1"],
	"'; DROP TABLE store; --",
	"x".repeat(LONGEST),
	`${"x".repeat(LONGEST - 1)}y`,
	"日".repeat(LONGEST / 3),
	"\u001a".repeat(LONGEST),
	"é".repeat(512),
];

/** Numbers that a store of numbers would change: NaN with payloads, infinity, -0, subnormal; the bytes `'\\\0"`. */
const FLOATS = [0, 0xffffffff, 0x7fc00001, 0x7f800001, 0xff800000, 0x80000000, 1, 0x22005c27];

function embeddings() {
	const { length } = bytes();
	const repeated = FLOATS.map(
		(bits) => new Uint8Array(new Uint32Array(length / 4).fill(bits).buffer),
	);
	// Part of a larger buffer.
	const part = bytes(length + 11).subarray(5, -6);
	return [...repeated, part, Buffer.from(bytes()), bytes()];
}

const NAMES = ["one", "two", "three", "four", "five"];

exports.rules = {
	"append numbers entries from 1 in their order": () =>
		[1, 2, 64, 1].map((size) => ["one", adds(size)]),

	"append keeps kind and id of every entry": () => [
		[
			"one",
			[...IDS.flatMap((id) => [add(id), forget(`other ${id}`.slice(0, LONGEST / 3))]), add(null)],
		],
		["one", [clear()]],
	],

	async "append keeps every bit of an embedding"({ fixture }) {
		const given = embeddings();
		const expected = given.map(bytesOf);
		await fixture.run([["one", given.map((embedding) => add(null, embedding))]]);
		assert.deepEqual(given.map(bytesOf), expected, "the caller's own");
	},

	async "append keeps embeddings of any length that a model has"({ fixture }) {
		for (const length of [4, 400, 3072, 4096, 8188, 16_384]) {
			const [first, ...more] = Array.from({ length: 43 }, () => add("0", bytes(length)));
			await fixture.in(`${fixture.namespace} ${length}`).run([
				["one", [first, forget("0"), ...more]],
				["other", null, { limit: 5 }],
			]);
		}
	},

	"append returns what others have appended since, then its own": () => [
		// Each knows one entry more than the one before.
		...NAMES.flatMap((name) => [["writer", adds(1)], [name]]),
		...NAMES.map((name) => [name, adds(3)]),
		...NAMES.map((name) => [name, adds(2), { limit: 3 }]),
	],

	"append adds a call once, however often it is repeated": () => {
		const [a, b, c, d] = [add("a"), forget("b"), add("a"), add("d")];
		const [erase, forgotten] = [clear(), forget("0")];
		const removals = [adds(2), [erase, add("0"), forgotten], [add("0")], [erase], [forgotten]];
		return [[a, b], [b, c], [a, d, c], ...removals].flatMap((batch) => [
			["one", batch],
			// Does not know the entries, as if the answer had been lost.
			["other", batch],
			["one", batch],
		]);
	},

	async "append is atomic, and gives all handles one order"({ fixture }) {
		const readers = await fixture.readers();
		await Promise.all(
			readers.map(async (reader, i) => {
				for (let turn = 0; turn < 20; turn++)
					await reader.append(adds(1 + ((turn + i) % 7)), { limit: 1 + ((5 * turn + i) % 20) });
			}),
		);
		await fixture.complete();
	},

	async "append and read at once create a namespace and a call once"({ fixture }) {
		const readers = await fixture.readers();
		const entries = adds(3);
		await Promise.all(readers.map((reader, i) => (i % 2 ? reader.append(entries) : reader.read())));
		await fixture.complete();
	},
};
