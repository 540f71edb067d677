import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { named, sharing } from "../support/stores.mjs";

const known = ["A red boat", "Taxes", "A blue boat", "Bread"].map((text) => named(text));
const asked = named("asked", "A boat");

/** Values that no store can contain in place of a number, a string or bytes. */
const wrong = fc.constantFrom(
	undefined,
	null,
	NaN,
	-1,
	0.5,
	"",
	"x",
	true,
	{},
	[],
	0n,
	-1n,
	1n,
	2 ** 53,
	2n ** 64n,
	1e300,
	Infinity,
	new Uint8Array(3),
	Symbol("s"),
);

/** Bytes of a vector that no model gives. */
const vectors = fc.constantFrom(
	new Uint8Array(1536),
	new Uint8Array(1536).fill(0xff),
	new Uint8Array(1535),
	new Uint8Array(1537),
	new Uint8Array(new Float32Array(384).fill(1).buffer),
	new Uint8Array(new Float32Array(384).fill(Infinity).buffer),
	new Uint8Array(0),
);

const index = fc.nat({ max: 4 });

const damages = fc.oneof(
	fc.record({
		what: fc.constant("field"),
		field: fc.constantFrom("header", "epoch", "head", "first", "reset", "entries"),
		value: wrong,
	}),
	fc.record({
		what: fc.constant("entry"),
		index,
		field: fc.constantFrom("seq", "at", "kind", "call", "id", "embedding"),
		value: wrong,
	}),
	fc.record({ what: fc.constant("vector"), index, value: vectors }),
	fc.record({ what: fc.constant("drop"), index }),
	fc.record({ what: fc.constant("repeat"), index }),
	fc.record({ what: fc.constant("swap"), index }),
	fc.record({ what: fc.constant("reverse") }),
	fc.record({ what: fc.constant("page"), value: wrong }),
);

function damage(page, { what, index, field, value }) {
	const { entries } = page;
	const at = Math.min(index, entries.length - 1);
	if (what === "page") return value;
	if (what === "field") return { ...page, [field]: value };
	if (what === "entry") entries[at] = { ...entries[at], [field]: value };
	if (what === "vector") entries[at] = { ...entries[at], embedding: value };
	if (what === "drop") entries.splice(at, 1);
	if (what === "repeat") entries.splice(at, 0, entries[at]);
	if (what === "swap") entries.push(...entries.splice(at, 1));
	if (what === "reverse") entries.reverse();
	return page;
}

test("Scorer with a damaged store ends calls with a typed error or the right score", async () => {
	const alone = new Scorer();
	for (const text of known) await alone.evaluateValue(text);
	const expected = await alone.evaluateValue(asked);
	let refused = 0;
	await fc.assert(
		fc.asyncProperty(damages, async (damages) => {
			const { scorer, scorerThrough } = sharing();
			await scorer().evaluateValues(known);
			let isDamaged = true;
			const read = async (read) => (isDamaged ? damage(await read(), damages) : read());
			const one = scorerThrough({ read }, { storeMode: "required" });
			try {
				assert.equal(await one.evaluateValue(asked), expected);
			} catch (error) {
				refused += 1;
				assert.equal(error.name, "ScoringError", error.stack);
				assert.match(error.code, /^(INVALID_STORE|STORE_MISMATCH|STORE_UNAVAILABLE)$/);
				// Neither the mirror nor the store has changed.
				isDamaged = false;
				const until = performance.now() + 20_000;
				while (one.status().store.state === "unavailable" && performance.now() < until)
					await one.evaluateValue(asked, { remember: false }).catch(() => {});
				const { score, novelty } = await one.explainValue(asked);
				assert.equal(score, expected);
				assert.equal(novelty.seq, known.length + 1);
				assert.equal(one.status().cacheSize, novelty.seq);
			}
			one.close();
		}),
		{ numRuns: 150, examples: [[{ what: "entry", index: 4, field: "seq", value: Symbol("s") }]] },
	);
	assert.ok(refused > 100, `${refused} were refused`);
});

/** Changes of the second of three entries, and the message. Those of a valid type are tested in Rust. */
const SAID = [
	[{ at: -1 }, /^entry 2 of the store: at: expected a safe integer, 0 or more, got -1$/],
	[{ id: 7 }, /^entry 2 of the store: id: expected a string or null, got 7$/],
	[{ embedding: "x" }, /^entry 2 of the store: embedding: expected a Uint8Array or null, got "x"$/],
	[{ seq: "5" }, /^entries\[1\]\.seq of the store: expected a safe integer, 1 or more, got "5"$/],
	[{ seq: 1n }, /^entries\[1\]\.seq of the store: .* got 1n$/],
	[{ kind: "ad" }, /^entry 2 of the store: kind: expected "add", "forget" or "clear", got "ad"$/],
	[{ call: "x" }, /^entry 2 of the store: call: expected a UUID, got "x"$/],
	[
		{ embedding: new Uint8Array(5) },
		/^entry 2 of the store: embedding: expected bytes of float32, got 5$/,
	],
];

test("INVALID_STORE names the damaged entry, what was expected and what was found", async () => {
	for (const [change, message] of SAID) {
		const { scorer, scorerThrough } = sharing();
		await scorer().evaluateValues(known.slice(0, 3));
		const read = async (read) => {
			const page = await read();
			Object.assign(page.entries[1], change);
			return page;
		};
		const one = scorerThrough({ read });
		await assert.rejects(one.evaluateValue(asked), { code: "INVALID_STORE", message });
	}
});

test("Scorer reads a lone surrogate in an id of a store as U+FFFD", async () => {
	const { scorer, scorerThrough } = sharing();
	await scorer().evaluateValue(known[0]);
	const read = async (read) => {
		const page = await read();
		page.entries[0].id = "\ud800";
		return page;
	};
	const one = scorerThrough({ read });
	const { novelty } = await one.explainValue(asked, { remember: false });
	assert.equal(novelty.nearest, "\ufffd");
});
