/** Entries to append. */
const { randomBytes, randomUUID } = require("node:crypto");

/** Any bytes, which may be NaN as numbers; by default as many as the built-in model gives. */
const bytes = (count = 1536) => new Uint8Array(randomBytes(count));

const entry = (kind, fields) => ({ kind, call: randomUUID(), ...fields });
const add = (id = null, embedding = bytes()) => entry("add", { id, embedding });
const adds = (count) => Array.from({ length: count }, (_, i) => add(String(i)));
const forget = (id) => entry("forget", { id });
const clear = () => entry("clear");

const callsOf = (entries) => entries.map(({ call }) => call);

module.exports = { add, adds, bytes, callsOf, clear, forget };
