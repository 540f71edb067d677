/** What `forget`, `clear` and `keepFrom` remove. */
const assert = require("node:assert/strict");
const { HEADER, METHODS, add, adds, clear, forget } = require("./fixture.js");

const MINUTE = 60_000;
const YEAR = 365 * 24 * 60 * MINUTE;
/** Greater than the time of any entry. */
const FOREVER = Date.UTC(2200);

exports.rules = {
	"append of a forget erases the embeddings of earlier adds with its id": () => [
		["one", [add("a"), add("b")]],
		["one", [...["a", "A", "a ", "", null, "a\0"].map((id) => add(id)), forget("a"), add("a")]],
		["one", [forget("")]],
	],

	"append of a forget is seen by readers that are behind": () => [
		["writer", [add("a"), add("b")]],
		["behind"],
		["writer", [add("a"), forget("a"), forget("never seen")]],
		["behind"],
	],

	"append of a clear deletes all entries before it": () => [
		["writer", adds(4)],
		["behind"],
		...[add("before"), clear(), add("after")].map((entry) => ["writer", [entry]]),
		// A position before the oldest entry is not damage.
		["behind"],
		["writer", [add("before"), clear(), add("after")]],
	],

	"append deletes no entry that is younger than a minute": () =>
		Array.from({ length: 10 }, () => ["one", adds(5), { keepFrom: FOREVER }]),
};

/** For a fixture whose entries can be made older. */
exports.rulesOfAge = {
	async "append never lets the time go back, nor changes that of others, where the clock is set back"({
		fixture,
	}) {
		for (const [turn, ms] of [60 * MINUTE, 30 * 24 * 60 * MINUTE, 50 * YEAR].entries()) {
			const one = fixture.in(`${fixture.namespace} ${turn}`);
			await one.run([["writer", adds(3)], ["behind"]]);
			await one.age(-ms);
			const times = (await one.entries()).map(({ at }) => at);
			await one.run([["behind"], ["behind", adds(1)], ["writer", adds(1)]]);
			const expected = [...times, times.at(-1), times.at(-1)];
			assert.deepEqual(
				(await one.entries()).map(({ at }) => at),
				expected,
				"times",
			);
		}
	},

	async "append deletes entries before keepFrom, oldest first"({ fixture, store }) {
		await fixture.run([["one", adds(6)], ["behind"]]);
		await fixture.age(10 * MINUTE);
		await fixture.run([["one", adds(6)]]);
		await fixture.age(5 * MINUTE);
		await fixture.run([["one", adds(1)]]);
		// A refused call deletes nothing.
		const [, append] = METHODS;
		await append(store, { header: { ...HEADER, model: "other" }, keepFrom: FOREVER });
		await fixture.run([["one", adds(1)]]);

		const { at } = (await fixture.entries())[6];
		const writer = await fixture.reader("writer");
		async function trim(keepFrom, first) {
			for (let i = 0; i < 10; i++) await writer.append(adds(1), { keepFrom });
			fixture.first = first;
			await fixture.complete();
		}
		await trim(at, 7);
		await fixture.run([["behind"]]);
		assert.equal((await fixture.reader("behind")).entries[0].seq, 7, "reset");
		await trim(FOREVER, 13);
	},

	async "append never deletes the newest entry"({ fixture }) {
		const entries = adds(2);
		const reader = await fixture.reader("one");
		await reader.append(entries);
		await fixture.age(10 * MINUTE);
		// A retry adds no newer entry.
		for (let i = 0; i < 5; i++) await reader.append([entries[1]], { keepFrom: FOREVER });
		const found = await fixture.entries();
		assert.equal(found.at(-1).call, entries[1].call);
		fixture.first = found[0].seq;
		await fixture.run([["one", [add("next")]]]);
	},
};
