/** What `forget`, `clear` and `keepFrom` remove. */
const assert = require("node:assert/strict");
const { HEADER, add, adds, callsOf, clear, forget, inSteps, options } = require("./fixture.js");

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;
/** Greater than the time of any entry. */
const FOREVER = Date.UTC(2200);

/** Each gets a fixture, and two readers with handles of their own. */
exports.rules = {
	"append of a forget erases the embeddings of earlier adds with its id": inSteps(() => {
		const entries = ["a", "A", "a ", "", null, "a\0"].map((id) => add(id));
		return [
			["reader", [add("a"), add("b")]],
			["reader", [...entries, forget("a"), add("a")]],
			["reader", [forget("")]],
		];
	}),

	"append of a forget is seen by readers that are behind": inSteps(() => [
		["writer", [add("a"), add("b")]],
		["behind"],
		["writer", [add("a"), forget("a"), forget("never seen")]],
		["behind"],
	]),

	"append of a clear deletes all entries before it": inSteps(() => [
		["writer", adds(4)],
		["behind"],
		...[add("before"), clear(), add("after")].map((entry) => ["writer", [entry]]),
		// A position before the oldest entry is not damage.
		["behind"],
	]),

	"append of a clear keeps the entries behind it in a batch": inSteps(() => [
		["reader", adds(3)],
		["reader", [add("before"), clear(), add("after")]],
	]),

	async "append of a clear leaves other namespaces alone"({ fixture }) {
		const other = `${fixture.namespace} other`;
		const [one, two] = [await fixture.reader(), await fixture.reader(other)];
		await one.append([add("a")]);
		await two.append([add("a")]);
		await one.append([forget("a")]);
		await one.append([clear()]);
		await fixture.complete(other);
	},

	"append deletes no entry that is younger than a minute": inSteps(() =>
		Array.from({ length: 10 }, () => ["reader", adds(5), { keepFrom: FOREVER }]),
	),
};

/** For a fixture whose entries can be made older. */
exports.rulesOfAge = {
	async "append never lets the time go back where the clock was set back by an hour"({
		fixture,
		writer,
		behind,
	}) {
		await writer.append(adds(3));
		await fixture.age(-HOUR);
		await behind.read();
		const page = await behind.append(adds(1));
		assert.deepEqual([page.head, page.reset], [4, false]);
		assert.equal(page.entries.at(-1).at, behind.entries[2].at);
	},

	async "append mends times that are more than a day ahead of the clock"({
		fixture,
		writer,
		behind,
	}) {
		await writer.append(adds(3));
		await behind.read();
		await fixture.age(-50 * YEAR);
		const page = await writer.append([add("next")]);
		assert.equal(page.reset, true);
		assert.notEqual(page.epoch, behind.after.epoch);
		const [{ reset }] = await behind.read();
		assert.equal(reset, true);
		const found = await fixture.entries();
		assert.deepEqual(callsOf(found), writer.calls);

		// What the clock says now.
		const other = `${fixture.namespace} now`;
		await (await fixture.reader(other)).append(adds(1));
		const [{ at }] = await fixture.entries(other);
		assert.ok(found.at(-1).at <= at, `${found.at(-1).at} is after ${at}`);
		const next = await writer.append(adds(1));
		assert.deepEqual([next.reset, next.epoch], [false, page.epoch]);
	},

	async "append deletes entries before keepFrom, oldest first"({ fixture, writer, behind }) {
		await writer.append(adds(6));
		await behind.read();
		await fixture.age(10 * MINUTE);
		await writer.append(adds(6));
		await fixture.age(5 * MINUTE);
		const young = adds(1);
		await writer.append(young);
		const before = await fixture.entries();

		// Between the first six and the second.
		const keepFrom = before[6].at;
		assert.ok(before[5].at < keepFrom);
		const reader = await fixture.reader();
		await reader.append(adds(1), { keepFrom: null });
		assert.equal((await fixture.entries()).length, 14, "without keepFrom");
		for (let i = 0; i < 10; i++) await reader.append(adds(1), { keepFrom });
		const found = await fixture.entries();
		assert.equal(found[0].seq, 7);
		assert.equal(found.length, 18);

		const { epoch } = behind.after;
		const [page] = await behind.read();
		assert.deepEqual([page.reset, page.epoch], [true, epoch]);
		await reader.read();

		for (let i = 0; i < 10; i++) await reader.append(adds(1), { keepFrom: FOREVER });
		assert.equal((await fixture.entries())[0].call, young[0].call);
	},

	async "append with another header deletes nothing"({ fixture, reader }) {
		await reader.append(adds(5));
		await fixture.age(10 * MINUTE);
		await reader.append(adds(1));
		const header = { ...HEADER, model: "other" };
		const call = options({ header, keepFrom: FOREVER });
		await (await fixture.open()).append(adds(1), call);
		assert.equal((await fixture.entries()).length, 6);
	},

	async "append never deletes the newest entry"({ fixture, reader }) {
		const entries = adds(2);
		await reader.append(entries);
		await fixture.age(10 * MINUTE);
		// A retry adds no newer entry.
		for (let i = 0; i < 5; i++) await reader.append([entries[1]], { keepFrom: FOREVER });
		const found = await fixture.entries();
		assert.equal(found.at(-1).call, entries[1].call);
		const page = await reader.append([add("next")], { keepFrom: FOREVER });
		assert.deepEqual([page.head, page.reset], [3, false]);
	},
};
