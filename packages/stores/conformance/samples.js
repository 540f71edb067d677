/** Entries to append. */
const { randomBytes, randomUUID } = require("node:crypto");

/**
 * Any bytes, by default as many as the built-in model gives: a store does not read them as numbers, and some of
 * these are NaN.
 */
const bytes = (count = 1536) => new Uint8Array(randomBytes(count));

const add = (id = null, embedding = bytes()) => ({
	kind: "add",
	call: randomUUID(),
	id,
	embedding,
});
const adds = (count) => Array.from({ length: count }, (_, i) => add(String(i)));
const forget = (id) => ({ kind: "forget", call: randomUUID(), id });
const clear = () => ({ kind: "clear", call: randomUUID() });

const callsOf = (entries) => entries.map(({ call }) => call);

module.exports = { add, adds, bytes, callsOf, clear, forget };
