/** Generated mutations of a valid trace, and copies of plain objects as other objects that read the same. */

import fc from "fast-check";

/** Values of every kind, made by functions because some are mutable. */
const ODD = {
	undefined: () => undefined,
	null: () => null,
	true: () => true,
	false: () => false,
	zero: () => 0,
	"minus zero": () => -0,
	one: () => 1,
	half: () => 0.5,
	"more than one": () => 1.5,
	"less than zero": () => -5e-324,
	NaN: () => Number.NaN,
	Infinity: () => Number.POSITIVE_INFINITY,
	"empty string": () => "",
	string: () => "text",
	"lone surrogate": () => "\ud800",
	"long string": () => "long ".repeat(1000),
	bigint: () => 10n,
	symbol: () => Symbol("symbol"),
	function: () => () => {},
	class: () => class {},
	array: () => [],
	holes: () => new Array(3),
	"array of null": () => [null],
	"huge array": () => new Array(2 ** 32 - 1),
	object: () => ({}),
	"no prototype": () => Object.create(null),
	"array-like": () => ({ length: 2, 0: {}, 1: {} }),
	"array-like proxy": () => new Proxy([], {}),
	"proxied function": () => new Proxy(() => {}, {}),
	"boxed string": () => new String("text"),
	"boxed number": () => new Number(0.5),
	"boxed boolean": () => new Boolean(true),
	date: () => new Date(0),
	regexp: () => /x/,
	map: () => new Map([["name", "a"]]),
	promise: () => Promise.resolve("text"),
	"typed array": () => new Float32Array(4),
	buffer: () => new ArrayBuffer(4),
	error: () => new Error("a value"),
	global: () => globalThis,
	cycle: () => {
		const cycle = { name: "a", type: "thought", metadata: 5 };
		cycle.tool = cycle;
		return cycle;
	},
};

const PLACES = [
	[],
	["metadata"],
	["metadata", "task_domain"],
	["metadata", "success"],
	["task"],
	["task", "objective"],
	["outcome"],
	["outcome", "confidence"],
	["steps"],
	...[0, 1, 2, 3].flatMap((step) => [
		["steps", step],
		["steps", step, "type"],
		["steps", step, "content"],
		["steps", step, "tool"],
		["steps", step, "tool", "name"],
	]),
];

const place = fc.constantFrom(...PLACES);

const kind = fc.oneof(
	{ weight: 4, arbitrary: fc.constant("replace") },
	{ weight: 1, arbitrary: fc.constantFrom("delete", "in an array", "in an object", "in a proxy") },
	{ weight: 1, arbitrary: fc.constant("swap") },
);

/** A mutation of any kind, with what the others need. */
const mutation = fc.record({
	kind,
	place,
	odd: fc.constantFrom(...Object.keys(ODD)),
	other: place,
});

/** One to three mutations. */
export const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });

/** Applies mutations to `trace` in place; those of a field that is gone are skipped. */
export function mutate(trace, list) {
	const root = { trace };
	for (const { kind, place, odd, other } of list) {
		const [owner, key] = slot(root, place);
		if (owner === undefined) continue;
		const value = owner[key];
		if (kind === "replace") owner[key] = ODD[odd]();
		if (kind === "delete") delete owner[key];
		if (kind === "in an array") owner[key] = [value];
		if (kind === "in an object") owner[key] = { value };
		if (kind === "in a proxy" && isObject(value)) owner[key] = new Proxy(value, {});
		const [to, at] = kind === "swap" ? slot(root, other) : [];
		if (to !== undefined) [to[at], owner[key]] = [value, to[at]];
	}
	return root.trace;
}

/** The object at a place, and its key there; nothing if it is gone. */
function slot(root, place) {
	let owner = root;
	let key = "trace";
	for (const next of place) {
		owner = owner[key];
		if (!isObject(owner)) return [];
		key = next;
	}
	// Only plain objects are changed: an earlier mutation may have put the global object there.
	const isPlain = [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(owner));
	return isPlain ? [owner, key] : [];
}

function isObject(value) {
	return typeof value === "object" && value !== null && value !== globalThis;
}

function deep(value, wrap) {
	if (typeof value !== "object" || value === null) return value;
	const copy = Array.isArray(value) ? [] : {};
	for (const key of Object.keys(value)) copy[key] = deep(value[key], wrap);
	return wrap(copy);
}

function withGetters(value) {
	for (const key of Object.keys(value)) {
		const inner = value[key];
		Object.defineProperty(value, key, { get: () => inner });
	}
	return value;
}

function asInstance(value) {
	if (Array.isArray(value))
		return Object.setPrototypeOf(value, class Steps extends Array {}.prototype);
	class Part {}
	for (const key of Object.keys(value))
		Object.defineProperty(Part.prototype, key, { get: () => value[key] });
	return new Part();
}

/** Functions that make copies which read the same, by name. */
export const shapes = {
	getters: (plain) => deep(plain, withGetters),
	proxies: (plain) => deep(plain, (value) => new Proxy(value, {})),
	"proxied steps": (plain) => ({ ...plain, steps: new Proxy(plain.steps, {}) }),
	"a proxy of a proxied array": (plain) => ({
		...plain,
		steps: new Proxy(new Proxy(plain.steps, {}), {}),
	}),
	"frozen objects": (plain) => deep(plain, Object.freeze),
	"class instances": (plain) => deep(plain, asInstance),
	"objects without a prototype": (plain) =>
		deep(plain, (value) =>
			Array.isArray(value) ? value : Object.assign(Object.create(null), value),
		),
	"extra fields that throw": (plain) =>
		deep(plain, (value) =>
			Object.defineProperty(value, "extra", {
				get: () => {
					throw new Error("an extra field was read");
				},
				enumerable: true,
			}),
		),
};

/** A trace, its shape, and its damages; see {@link built}. */
export const anyValue = (trace) =>
	fc.record({
		trace,
		shape: fc.oneof(
			{ weight: 6, arbitrary: fc.constant("plain") },
			{ weight: 2, arbitrary: fc.constantFrom(...Object.keys(shapes)) },
		),
		damage: fc.oneof(
			{ weight: 6, arbitrary: fc.constant([]) },
			{ weight: 1, arbitrary: mutations },
		),
	});

/** Makes the value of {@link anyValue}. */
export function built({ trace, shape, damage }) {
	const plain = structuredClone(trace);
	if (damage.length > 0) return mutate(plain, damage);
	return shape === "plain" ? plain : shapes[shape](plain);
}
