/** Copies of plain objects that read the same and are not plain. */

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

/** Functions that make them, by name. */
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
