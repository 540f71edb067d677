/** Pages, positions, headers and namespaces. */
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { HEADER, METHODS, add, adds, callsOf, options, positionOf } = require("./fixture.js");

/** Each gets a fixture, and two readers with handles of their own. */
exports.rules = {
	async "read creates the namespace"({ fixture, store }) {
		const page = await store.read(options());
		const { header, epoch, head, first, reset, entries } = page;
		assert.deepEqual({ ...header }, HEADER);
		assert.deepEqual([head, first, reset, [...entries]], [0, 1, true, []]);
		const again = await (await fixture.open()).read(options());
		assert.equal(again.epoch, epoch);
		const { epoch: other } = await (await fixture.open(randomUUID())).read(options());
		assert.notEqual(other, epoch);
	},

	async "read gives pages of at most limit entries"({ fixture, writer }) {
		await writer.append(adds(10));
		for (const limit of [1, 3, 5, 9, 10, 11]) {
			const reader = await fixture.reader();
			const pages = await reader.read({ limit });
			assert.equal(pages.length, Math.ceil(10 / limit));
			assert.deepEqual(reader.calls, writer.calls);
		}
	},

	async "read gives nothing after the newest entry"({ reader }) {
		await reader.append(adds(5));
		const [{ reset, entries, head }] = await reader.read();
		assert.deepEqual([reset, [...entries], head], [false, [], 5]);
	},

	async "read and append start again from a position in another epoch"({ reader, store }) {
		await reader.append(adds(5));
		const { after, calls } = reader;
		const epoch = randomUUID();
		for (const method of METHODS)
			for (const position of [after, { ...after, seq: 99 }, { ...after, call: randomUUID() }]) {
				const page = await method(store, options({ after: { ...position, epoch } }));
				assert.ok(page.reset);
				assert.equal(page.epoch, after.epoch, "the epoch of the store");
				assert.deepEqual(callsOf(page.entries).slice(0, 5), calls);
			}
	},

	async "read and append take a new epoch where an entry is not what it was"({ reader, store }) {
		await reader.append(adds(5));
		const [first, second] = reader.entries;
		for (const method of METHODS)
			for (const wrong of [
				{ seq: 1000, call: randomUUID() },
				{ seq: 2 ** 52, call: first.call },
				{ seq: 1, call: randomUUID() },
				{ seq: 1, call: second.call },
			]) {
				const { after, calls } = reader;
				const page = await method(store, options({ after: { ...after, ...wrong } }));
				assert.ok(page.reset);
				assert.notEqual(page.epoch, after.epoch, "the epoch");
				assert.deepEqual(callsOf(page.entries).slice(0, 5), calls.slice(0, 5));

				// All others also start again, once.
				const [{ reset, epoch }] = await reader.read();
				assert.deepEqual([reset, epoch], [true, page.epoch]);
				const [next] = await reader.read();
				assert.deepEqual([next.reset, next.epoch], [false, page.epoch]);
			}
	},

	async "read and append keep the epoch where the position is right"({ reader, store }) {
		await reader.append(adds(5));
		const { entries, after } = reader;
		for (const method of METHODS)
			for (const entry of entries) {
				const position = positionOf(after, entry);
				const { epoch, reset, entries } = await method(store, options({ after: position }));
				assert.deepEqual([epoch, reset], [after.epoch, false]);
				if (entries.length > 0) assert.equal(entries[0].seq, entry.seq + 1);
			}
	},

	async "read and append refuse another header"({ fixture }) {
		const namespaces = {
			wide: { model: "é'\"", maxElements: 2 ** 32 - 1, ttlMs: 1.5 },
			plain: HEADER,
		};
		for (const [name, header] of Object.entries(namespaces)) {
			const namespace = `${fixture.namespace} ${name}`;
			const store = await fixture.open(namespace);
			await store.append([add()], options({ header, keepFrom: null }));
			const { model, maxElements, ttlMs } = header;
			for (const other of [
				{ model: `${model} `, maxElements, ttlMs },
				{ model, maxElements: 999, ttlMs },
				{ model, maxElements, ttlMs: 1 },
				{ model, maxElements, ttlMs: 0 },
			])
				for (const method of METHODS) {
					const page = await method(store, options({ header: other }));
					assert.deepEqual({ ...page.header }, header);
					assert.deepEqual([...page.entries], []);
				}
			// The same header, in another order.
			const { head } = await store.read(options({ header: { ttlMs, maxElements, model } }));
			assert.equal(head, 1, "entries of the namespace");
		}
	},

	async "read and append keep namespaces apart"({ fixture }) {
		const { namespace } = fixture;
		const names = ["", " ", "A", "a", "å", "a\u030a", "'", '"', "%", "_", "日本語", "\\"].map(
			(end) => namespace + end,
		);
		names.push(namespace.toUpperCase(), "x".repeat(200).replace(/^.{60}/, namespace.padEnd(60)));
		const epochs = new Set();
		// The same calls, in each.
		const entries = adds(2);
		for (const name of names) {
			const reader = await fixture.reader(name);
			await reader.append([...entries, add(name)]);
			epochs.add(reader.after.epoch);
		}
		for (const name of names) await fixture.complete(name);
		assert.equal(epochs.size, names.length, "epochs");
	},
};
