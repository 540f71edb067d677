/** Counts dropped spans, and reports them through OpenTelemetry's diagnostics. */
const { diag } = require("@opentelemetry/api");
const { name } = require("../package.json");

/** The least time between two reports under load. */
const INTERVAL_MS = 10_000;

exports.Drops = class Drops {
	#counts = new Map();
	#reportedAt = Number.NEGATIVE_INFINITY;

	add(what, count) {
		this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
		if (performance.now() - this.#reportedAt >= INTERVAL_MS) this.report();
	}

	report() {
		if (this.#counts.size === 0) return;
		const all = [...this.#counts].map(([what, count]) => `${count} ${what}`);
		this.#counts.clear();
		this.#reportedAt = performance.now();
		diag.warn(`${name}: dropped ${all.join(", ")}`);
	}
};
