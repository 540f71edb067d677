/** Collects spans until the local root above them has ended. */
const { clearTimeout, setTimeout } = require("node:timers");

/** A span without a parent in this process, and all spans below it. */
class LocalTrace {
	/** By id, in the order in which they began; `undefined` for one that is open. */
	#spans = new Map();
	#open = 0;
	/** Ends the wait for spans that outlive the root. */
	timer;

	/** @param root The context of the root. */
	constructor(root) {
		this.root = root;
	}

	get size() {
		return this.#spans.size;
	}

	get isOpen() {
		return this.#open > 0;
	}

	get hasRootEnded() {
		return this.#spans.get(this.root.spanId) !== undefined;
	}

	/** The spans that have ended. */
	get spans() {
		return [...this.#spans.values()].filter((span) => span !== undefined);
	}

	get spanIds() {
		return this.#spans.keys();
	}

	start(spanId) {
		this.#spans.set(spanId, undefined);
		this.#open++;
	}

	end(span) {
		this.#spans.set(span.spanId, span);
		this.#open--;
	}
}

class Collector {
	#limits;
	#onFinished;
	#drops;
	/** By trace id and span id: remote parents may give a trace several local roots. */
	#bySpan = new Map();
	/** All of them, least recently active first. */
	#open = new Set();
	/** Ids of traces with dropped spans, oldest first, at most `maxTraces`. */
	#dropped = new Set();

	/** @param onFinished Called with each local trace that is complete. */
	constructor(limits, drops, onFinished) {
		this.#limits = limits;
		this.#drops = drops;
		this.#onFinished = onFinished;
	}

	start(spanContext, parent) {
		const { traceId, spanId } = spanContext;
		const isRoot = !parent || parent.isRemote === true;
		let trace = isRoot ? undefined : this.#find(traceId, parent.spanId);
		// The parent was dropped. A trace that begins with its child would be incomplete.
		if (!trace && !isRoot && this.#dropped.has(traceId))
			return this.#drops.add("later spans of dropped traces", 1);
		trace ??= this.#begin(spanContext);
		const { maxSpans } = this.#limits;
		if (trace.size >= maxSpans)
			return this.#drop(trace, `spans of traces with more than ${maxSpans}`);
		trace.start(spanId);
		this.#bySpan.set(traceId + spanId, trace);
		this.#touch(trace);
	}

	end(span) {
		const trace = this.#find(span.traceId, span.spanId);
		if (!trace) return;
		trace.end(span);
		this.#touch(trace);
		if (!trace.hasRootEnded) return;
		if (!trace.isOpen) this.#finish(trace);
		else trace.timer ??= setTimeout(() => this.#finish(trace), this.#limits.waitMs).unref();
	}

	/** Finishes the traces that only wait for spans that outlive their root. */
	flush() {
		for (const trace of [...this.#open]) if (trace.hasRootEnded) this.#finish(trace);
	}

	close() {
		this.flush();
		for (const trace of [...this.#open])
			this.#drop(trace, "spans of traces that were open at shutdown");
	}

	#find(traceId, spanId) {
		return this.#bySpan.get(traceId + spanId);
	}

	#begin(root) {
		if (this.#open.size >= this.#limits.maxTraces) {
			const [idle] = this.#open;
			if (idle.hasRootEnded) this.#finish(idle);
			else this.#drop(idle, `spans of idle traces, because ${this.#limits.maxTraces} were open`);
		}
		return new LocalTrace(root);
	}

	/** Makes a trace the most recently active one. */
	#touch(trace) {
		this.#open.delete(trace);
		this.#open.add(trace);
	}

	#finish(trace) {
		this.#remove(trace);
		this.#onFinished(trace);
	}

	#drop(trace, reason) {
		this.#remove(trace);
		this.#drops.add(reason, trace.size);
		const { traceId } = trace.root;
		this.#dropped.delete(traceId);
		this.#dropped.add(traceId);
		const [oldest] = this.#dropped;
		if (this.#dropped.size > this.#limits.maxTraces) this.#dropped.delete(oldest);
	}

	#remove(trace) {
		clearTimeout(trace.timer);
		this.#open.delete(trace);
		for (const spanId of trace.spanIds) this.#bySpan.delete(trace.root.traceId + spanId);
	}
}

module.exports = { Collector };
