/** Pages, positions, headers and namespaces. */
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { HEADER, METHODS, add, adds, clear, forget } = require("./fixture.js");

/** Steps from a changed position, and of another reader, which is told at most once. */
const from = (after) =>
	[null, adds(1)].flatMap((entries) => [["one", entries, { after }], ["other"], ["other"]]);

exports.rules = {
	"read creates the namespace": () => [["one"], ["other"]],

	"read gives pages of at most limit entries": () => [
		["writer", adds(10)],
		...[1, 3, 5, 9, 10, 11].map((limit) => [`reader of ${limit}`, null, { limit }]),
	],

	"read gives nothing after the newest entry": () => [["one", adds(5)], ["one"]],

	"read and append start again from a position in another epoch": () => [
		["one", adds(5)],
		...[{}, { seq: 99 }, { call: randomUUID() }].flatMap((wrong) =>
			from({ epoch: randomUUID(), ...wrong }),
		),
	],

	"read and append take a new epoch where an entry is not what it was": () => {
		const entries = adds(5);
		const [first, second] = entries;
		return [
			["one", entries],
			["other"],
			...from({ seq: 1000, call: randomUUID() }),
			...from({ seq: 2 ** 52, call: first.call }),
			...from({ seq: 1, call: randomUUID() }),
			...from({ seq: 1, call: second.call }),
		];
	},

	async "read and append refuse another header"({ fixture }) {
		for (const header of [HEADER, { model: "é'\"", maxElements: 2 ** 32 - 1, ttlMs: 1.5 }]) {
			const { model, maxElements, ttlMs } = header;
			const store = await fixture.in(`${fixture.namespace} ${model}`).open();
			const [read, append] = METHODS;
			await append(store, { header });
			const changes = [{ model: `${model} ` }, { maxElements: 999 }, { ttlMs: 1 }, { ttlMs: 0 }];
			for (const change of changes)
				for (const method of METHODS) {
					const page = await method(store, { header: { ...header, ...change } });
					assert.deepEqual([{ ...page.header }, ...page.entries], [header]);
				}
			// The same header, in another order.
			const { entries } = await read(store, { header: { ttlMs, maxElements, model } });
			assert.equal(entries.length, 1, "entries of the namespace");
		}
	},

	async "read and append keep namespaces apart"({ fixture }) {
		const { namespace } = fixture;
		const ends = ["", " ", "A", "a", "å", "a\u030a", "'", '"', "%", "_", "日本語", "\\"];
		const long = namespace.padEnd(200, "x");
		const names = [...ends.map((end) => namespace + end), namespace.toUpperCase(), long];
		const fixtures = names.map((name) => fixture.in(name));
		// The same calls, in each.
		const entries = [...adds(2), add("a")];
		for (const one of fixtures) await one.run([["one", entries]]);
		await fixtures[0].run([
			["one", [forget("a")]],
			["one", [clear()]],
		]);
		for (const one of fixtures) await one.complete();
		assert.equal(new Set(fixtures.flatMap(({ epochs }) => epochs)).size, names.length, "epochs");
	},
};
