import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { named, sharing, through } from "../support/logs.mjs";

const known = ["A red boat", "Taxes", "A blue boat", "Bread"].map((text) => named(text));
const asked = named("asked", "A boat");

/** Values in the place of a number, a string or bytes that no log can contain. */
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
	2n ** 53n,
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

test("what a damaged store returns ends in a typed error or in the right score", async () => {
	const alone = new Scorer();
	for (const text of known) await alone.evaluateValue(text);
	const expected = await alone.evaluateValue(asked);
	let refused = 0;
	await fc.assert(
		fc.asyncProperty(damages, async (damages) => {
			const { scorer, log } = sharing();
			await scorer().evaluateValues(known);
			let isDamaged = true;
			const store = through(log(), {
				read: async (read) => (isDamaged ? damage(await read(), damages) : read()),
			});
			const one = new Scorer({ store, storeMode: "required" });
			try {
				assert.equal(await one.evaluateValue(asked), expected);
			} catch (error) {
				refused += 1;
				assert.equal(error.name, "ScoringError", error.stack);
				assert.match(error.code, /^(INVALID_STORE|STORE_MISMATCH|STORE_UNAVAILABLE)$/);
				// Nothing of it is left in the mirror, and nothing was added to the log.
				isDamaged = false;
				while (one.status().store.state === "unavailable")
					await one.evaluateValue(asked, { remember: false }).catch(() => {});
				const { score, novelty } = await one.explainValue(asked);
				assert.equal(score, expected);
				assert.equal(novelty.seq, known.length + 1);
				assert.equal(one.status().cacheSize, novelty.seq);
			}
			one.close();
		}),
		{ numRuns: 150 },
	);
	assert.ok(refused > 100, `${refused} were refused`);
});

test("an error about a damaged entry names it, what was expected and what was found", async () => {
	for (const [field, value, message] of [
		["seq", 5, /^entries\[0\]\.seq of the store: expected a bigint .*, got 5$/],
		["kind", "ad", /^kind of entry 1 of the store: expected "add", "forget" or "clear", got 'ad'$/],
		[
			"embedding",
			new Uint8Array(4),
			/^embedding\.length of entry 1 of the store: expected 1536, got 4$/,
		],
		["seq", 9n, /^entries\[0\]\.seq of the store: expected 1, got 9n$/],
		[
			"embedding",
			new Uint8Array(1536),
			/^entry 1 of the store: expected a vector of length 1, got one of 0$/,
		],
	]) {
		const { scorer, log } = sharing();
		await scorer().evaluateValue(known[0]);
		const read = async (read) => {
			const page = await read();
			Object.assign(page.entries[0], { [field]: value });
			return page;
		};
		const one = new Scorer({ store: through(log(), { read }) });
		await assert.rejects(one.evaluateValue(asked), {
			code: "INVALID_STORE",
			message,
		});
	}
});
