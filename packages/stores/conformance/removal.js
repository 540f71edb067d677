/** What `forget`, `clear` and `keepFrom` remove. */
const assert = require("node:assert/strict");
const { HEADER, add, adds, bytesOf, callsOf, clear, forget, options } = require("./store.js");

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;
/** Greater than the time of any entry. */
const FOREVER = Date.UTC(2200);

/** Whether each entry still has its embedding. */
const kept = (entries) => entries.map(({ embedding }) => embedding !== null);

exports.rules = {
	async "append of a forget erases the embeddings of earlier adds with its id"(store) {
		const reader = await store.reader();
		const ids = ["a", "b", "a", "A", "a ", "", null, "a\0"];
		const entries = ids.map((id) => add(id));
		await reader.append(entries.slice(0, 2));
		await reader.append([...entries.slice(2), forget("a"), add("a")]);
		const found = await store.entries();
		const expected = [false, true, false, true, true, true, true, true, false, true];
		assert.deepEqual(kept(found), expected);
		assert.deepEqual(
			found.map(({ id }) => id),
			[...ids, "a", "a"],
		);
		assert.deepEqual(bytesOf(found[1].embedding), entries[1].embedding);

		await reader.append([forget("")]);
		assert.deepEqual(kept(await store.entries()), [...expected.with(5, false), false]);
	},

	async "append of a forget is seen by readers that are behind"(store) {
		const [writer, behind] = [await store.reader(), await store.reader()];
		await writer.append([add("a"), add("b")]);
		await behind.read();
		await writer.append([add("a"), forget("a"), forget("never seen")]);
		const [{ reset, entries }] = await behind.read();
		assert.equal(reset, false);
		assert.deepEqual(
			entries.map(({ kind, id }) => [kind, id]),
			[
				...[
					["add", "a"],
					["forget", "a"],
					["forget", "never seen"],
				],
			],
		);
		assert.deepEqual(kept(entries), [false, false, false]);
	},

	async "append of a clear deletes all entries before it"(store) {
		const [writer, behind] = [await store.reader(), await store.reader()];
		await writer.append(adds(4));
		await behind.read();
		await writer.append(adds(1));
		const erase = clear();
		const added = add("after");
		await writer.append([erase]);
		await writer.append([added]);
		const found = await store.entries();
		assert.deepEqual(callsOf(found), callsOf([erase, added]));
		assert.equal(found[0].seq, 6n);

		// The position is older than the oldest entry, which is no damage.
		const { epoch } = behind.after;
		const [page] = await behind.read();
		assert.deepEqual([page.reset, page.epoch], [true, epoch]);
		assert.deepEqual(callsOf(page.entries), callsOf([erase, added]));
	},

	async "append of a clear keeps the entries behind it in a batch"(store) {
		const reader = await store.reader();
		await reader.append(adds(3));
		const batch = [add("before"), clear(), add("after")];
		const page = await reader.append(batch);
		assert.deepEqual(callsOf(page.entries.slice(-2)), callsOf(batch.slice(1)));
		const found = await store.entries();
		assert.deepEqual(callsOf(found), callsOf(batch.slice(1)));
		assert.equal(found[1].seq, 6n);
	},

	async "append of a clear leaves other namespaces alone"(store) {
		const other = `${store.namespace} other`;
		const [one, two] = [await store.reader(), await store.reader(other)];
		await one.append([add("a")]);
		await two.append([add("a")]);
		await one.append([forget("a")]);
		await one.append([clear()]);
		const found = await store.entries(other);
		assert.deepEqual(kept(found), [true]);
	},

	async "append deletes no entry that is younger than a minute"(store) {
		const reader = await store.reader();
		for (let i = 0; i < 10; i++) await reader.append(adds(5), { keepFrom: FOREVER });
		const found = await store.entries();
		assert.deepEqual(callsOf(found), reader.calls);
		assert.equal(found.length, 50);
	},
};

/** With a store whose entries can be made older. */
exports.rulesOfAge = {
	async "append never lets the time go back where the clock was set back by an hour"(store) {
		await (await store.reader()).append(adds(3));
		await store.age(-HOUR);
		const reader = await store.reader();
		await reader.read();
		const page = await reader.append(adds(1));
		assert.deepEqual([page.head, page.reset], [4n, false]);
		assert.equal(page.entries.at(-1).at, reader.entries[2].at);
	},

	async "append mends times that are more than a day ahead of the clock"(store) {
		const [writer, behind] = [await store.reader(), await store.reader()];
		const entries = adds(3);
		await writer.append(entries);
		await behind.read();
		await store.age(-50 * YEAR);
		const page = await writer.append([add("next")]);
		assert.equal(page.reset, true);
		assert.notEqual(page.epoch, behind.after.epoch);
		const [{ reset }] = await behind.read();
		assert.equal(reset, true);
		const found = await store.entries();
		assert.deepEqual(callsOf(found), writer.calls);
		assert.deepEqual(bytesOf(found[0].embedding), entries[0].embedding);

		// What the clock says now.
		const other = `${store.namespace} now`;
		await (await store.reader(other)).append(adds(1));
		const [{ at }] = await store.entries(other);
		assert.ok(found.at(-1).at <= at, `${found.at(-1).at} is after ${at}`);
		const next = await writer.append(adds(1));
		assert.deepEqual([next.reset, next.epoch], [false, page.epoch]);
	},

	async "append deletes entries before keepFrom, oldest first"(store) {
		const [writer, behind] = [await store.reader(), await store.reader()];
		await writer.append(adds(6));
		await behind.read();
		await store.age(10 * MINUTE);
		await writer.append(adds(6));
		await store.age(5 * MINUTE);
		const young = adds(1);
		await writer.append(young);
		const before = await store.entries();

		// Between the first six and the second.
		const keepFrom = before[6].at;
		assert.ok(before[5].at < keepFrom);
		const reader = await store.reader();
		await reader.append(adds(1), { keepFrom: null });
		assert.equal((await store.entries()).length, 14, "without keepFrom");
		for (let i = 0; i < 10; i++) await reader.append(adds(1), { keepFrom });
		const found = await store.entries();
		assert.equal(found[0].seq, 7n);
		assert.equal(found.length, 18);

		const { epoch } = behind.after;
		const [page] = await behind.read();
		assert.deepEqual([page.reset, page.epoch], [true, epoch]);
		const [{ reset }] = await reader.read();
		assert.equal(reset, false, "of a reader that is not behind");

		for (let i = 0; i < 10; i++) await reader.append(adds(1), { keepFrom: FOREVER });
		assert.equal((await store.entries())[0].call, young[0].call);
	},

	async "append with another header deletes nothing"(store) {
		const reader = await store.reader();
		await reader.append(adds(5));
		await store.age(10 * MINUTE);
		await reader.append(adds(1));
		const header = { ...HEADER, model: "other" };
		const call = options({ header, keepFrom: FOREVER });
		await (await store.open()).append(adds(1), call);
		assert.equal((await store.entries()).length, 6);
	},

	async "append never deletes the newest entry"(store) {
		const reader = await store.reader();
		const entries = adds(2);
		await reader.append(entries);
		await store.age(10 * MINUTE);
		// A repetition adds nothing that would be newer.
		for (let i = 0; i < 5; i++) await reader.append([entries[1]], { keepFrom: FOREVER });
		const found = await store.entries();
		assert.equal(found.at(-1).call, entries[1].call);
		const page = await reader.append([add("next")], { keepFrom: FOREVER });
		assert.deepEqual([page.head, page.reset], [3n, false]);
	},
};
