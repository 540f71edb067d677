/** Logs that compare by themselves. */
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { EMBEDDING_BYTES, HEADER, add, clear, forget } = require("./store.js");

/** The greatest error of a similarity, which a database may compute in another order. */
const TOLERANCE = 1e-5;

/** Returns the unit vector at an angle to the first axis, in a plane with another axis. */
function unit(degrees, axis = 1, length = EMBEDDING_BYTES) {
	const bytes = new Uint8Array(length);
	const view = new DataView(bytes.buffer);
	const angle = (degrees * Math.PI) / 180;
	view.setFloat32(0, Math.cos(angle), true);
	view.setFloat32(4 * axis, Math.sin(angle), true);
	return bytes;
}

const cosine = (degrees) => Math.cos((degrees * Math.PI) / 180);
const peek = (embedding) => ({ kind: "peek", embedding });

/** Returns `compare` of a new handle, which checks the form of what it returns. */
async function compareOf(store, namespace) {
	const log = await store.open(namespace);
	return async (entries, header = HEADER) => {
		const { signal } = new AbortController();
		const found = await log.compare(entries, {
			header,
			signal,
			keepFrom: null,
		});
		assert.equal(found.length, entries.length);
		for (const [i, { seq, maxSimilarity, nearest, removed }] of found.entries()) {
			assert.equal(typeof seq, "bigint", "type of seq");
			if (entries[i].kind === "forget") assert.ok(Number.isInteger(removed), "removed");
			if (maxSimilarity === null) assert.equal(nearest, null);
			else assert.ok(Math.abs(maxSimilarity) <= 1 + TOLERANCE, "maxSimilarity");
		}
		return found;
	};
}

function assertNearest({ maxSimilarity, nearest }, similarity, id) {
	if (similarity === null) return assert.equal(maxSimilarity, null);
	const error = Math.abs(maxSimilarity - similarity);
	assert.ok(error <= TOLERANCE, `${maxSimilarity}, not ${similarity}`);
	assert.equal(nearest, id);
}

exports.rules = {
	async "compare compares each entry with those before it"(store) {
		const compare = await compareOf(store);
		const [a, b] = await compare([add("a", unit(0)), add("b", unit(60))]);
		assertNearest(a, null);
		assertNearest(b, cosine(60), "a");
		assert.equal(b.seq, a.seq + 1n);
		const other = await compareOf(store);
		const [c, d, e] = await other([
			...[add(null, unit(50)), add("d", unit(180)), add("e", unit(51))],
		]);
		assertNearest(c, cosine(10), "b");
		assertNearest(d, cosine(120), "b");
		assertNearest(e, cosine(1), null);
		assert.equal(e.seq, b.seq + 3n);
	},

	async "compare takes vectors of any length that a model has"(store) {
		for (const length of [8, 400, 4096, 16_384]) {
			const namespace = `${store.namespace} ${length}`;
			const compare = await compareOf(store, namespace);
			const of = (degrees) => unit(degrees, 1, length);
			const found = await compare([
				...[add("a", of(0)), peek(of(10)), forget("b"), add("b", of(60))],
			]);
			assertNearest(found[1], cosine(10), "a");
			assertNearest(found[3], cosine(60), "a");
		}
	},

	async "compare adds nothing for a peek"(store) {
		const compare = await compareOf(store);
		const [before] = await compare([peek(unit(0))]);
		assertNearest(before, null);
		const [a, peeked, b] = await compare([
			...[add("a", unit(0)), peek(unit(30)), add("b", unit(30))],
		]);
		assertNearest(peeked, cosine(30), "a");
		assertNearest(b, cosine(30), "a");
		assert.equal(b.seq, a.seq + 1n);
	},

	async "compare answers a repeated call as it did before"(store) {
		const compare = await compareOf(store);
		const entries = [add("a", unit(0)), add("b", unit(40)), add("c", unit(90))];
		const first = await compare(entries.slice(0, 2));
		const [, , last] = await compare(entries);
		assertNearest(last, cosine(50), "b");
		assert.equal(last.seq, first[1].seq + 1n);
		const again = await compare(entries);
		for (const [i, answer] of [...first, last].entries()) {
			assert.equal(again[i].seq, answer.seq);
			assertNearest(again[i], answer.maxSimilarity, answer.nearest);
		}
	},

	async "compare removes what is forgotten or cleared"(store) {
		const compare = await compareOf(store);
		await compare([add("a", unit(0)), add("a", unit(10)), add("b", unit(90))]);
		const [unknown, first, second] = await compare([...[forget("A"), forget("a"), forget("a")]]);
		assert.deepEqual(
			[unknown, first, second].map(({ removed }) => removed),
			[0, 2, 0],
		);
		const [near] = await compare([peek(unit(30))]);
		assertNearest(near, cosine(60), "b");
		const [, left] = await compare([clear(), peek(unit(30))]);
		assertNearest(left, null);
		const [next] = await compare([add("c", unit(0))]);
		assertNearest(next, null);
	},

	async "compare sees the last maxElements traces"(store) {
		const compare = await compareOf(store);
		const header = { ...HEADER, maxElements: 2 };
		const [, , , last] = await compare(
			["a", "b", "c", "d"].map((id, i) => add(id, unit(i < 1 ? 0 : 90, i + 1))),
			header,
		);
		assert.ok(Math.abs(last.maxSimilarity) <= TOLERANCE);
		const [peeked] = await compare([peek(unit(0))], header);
		assert.ok(Math.abs(peeked.maxSimilarity) <= TOLERANCE);
		assert.notEqual(peeked.nearest, "a");
	},

	async "compare refuses another header"(store) {
		const compare = await compareOf(store);
		await compare([add("a", unit(0))]);
		for (const change of [{ model: "other" }, { maxElements: 9 }, { ttlMs: 9 }])
			await assert.rejects(compare([add("b", unit(0))], { ...HEADER, ...change }), {
				code: "STORE_MISMATCH",
			});
		const [peeked] = await compare([peek(unit(0))]);
		assertNearest(peeked, 1, "a");
	},

	async "compare keeps namespaces apart"(store) {
		const compare = await compareOf(store);
		await compare([add("a", unit(0))]);
		const other = await compareOf(store, `${store.namespace} ${randomUUID()}`);
		const [b] = await other([add("b", unit(0))]);
		assertNearest(b, null);
	},

	async "compare calls one new trace new once, whoever sends it"(store) {
		const handles = [];
		for (let i = 0; i < 6; i++) handles.push(await compareOf(store));
		for (let turn = 0; turn < 5; turn++) {
			const embedding = unit(90, turn + 1);
			const answers = await Promise.all(
				handles.map((compare) => compare([add(`trace ${turn}`, embedding)])),
			);
			const repeats = answers.flat().filter(({ nearest }) => nearest === `trace ${turn}`);
			assert.equal(repeats.length, handles.length - 1);
			assert.equal(new Set(answers.flat().map(({ seq }) => seq)).size, handles.length);
		}
	},
};
