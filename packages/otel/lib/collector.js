/** Collects spans until the local root above them has ended. */
const { Buffer } = require("node:buffer");
const { clearTimeout, setTimeout } = require("node:timers");

/*
 * A trace here has a `root`, a span without a parent in this process; `spans`, that span and all below it by id, in
 * the order in which they began, `undefined` until they end; `open`, the number of those; `bytes`, the size of the
 * others; and `timer`, which ends the wait for spans that outlive the root.
 */

const hasRootEnded = ({ root, spans }) => spans.get(root.spanId) !== undefined;

exports.Collector = class Collector {
	#limits;
	#onFinished;
	#drops;
	/** By trace id and span id: remote parents may give a trace several local roots. */
	#bySpan = new Map();
	/** All traces, the least recently active first. */
	#open = new Set();
	/** Ids of traces with dropped spans, oldest first, at most `maxTraces`. */
	#dropped = new Set();
	/** The size of the spans of open traces, and of complete ones that are not scored yet. */
	#bytes = 0;

	/** `onFinished` gets the root and the ended spans of a complete trace. They are held until its promise, if any, resolves. */
	constructor(limits, drops, onFinished) {
		this.#limits = limits;
		this.#drops = drops;
		this.#onFinished = onFinished;
	}

	start(spanContext, parent) {
		const { traceId, spanId } = spanContext;
		const isRoot = !parent || parent.isRemote === true;
		let trace = isRoot ? undefined : this.#bySpan.get(traceId + parent.spanId);
		// The parent was dropped. A trace that begins with its child would be incomplete.
		if (!trace && !isRoot && this.#dropped.has(traceId))
			return this.#drops.add("later spans of dropped traces", 1);
		trace ??= this.#begin(spanContext);
		const { maxSpans } = this.#limits;
		if (trace.spans.size >= maxSpans)
			return this.#drop(trace, `spans of traces with more than ${maxSpans}`);
		trace.spans.set(spanId, undefined);
		trace.open += 1;
		this.#bySpan.set(traceId + spanId, trace);
		this.#touch(trace);
	}

	end(span) {
		const trace = this.#bySpan.get(span.traceId + span.spanId);
		if (!trace) return;
		trace.spans.set(span.spanId, span);
		trace.open -= 1;
		this.#touch(trace);
		this.#count(trace, Buffer.byteLength(span.line));
		if (!this.#open.has(trace) || !hasRootEnded(trace)) return;
		if (trace.open === 0) this.#finish(trace);
		else trace.timer ??= setTimeout(() => this.#finish(trace), this.#limits.waitMs).unref();
	}

	/** Finishes the traces that only wait for spans after their root has ended. */
	flush() {
		for (const trace of [...this.#open]) if (hasRootEnded(trace)) this.#finish(trace);
	}

	close() {
		this.flush();
		for (const trace of [...this.#open])
			this.#drop(trace, "spans of traces that were open at shutdown");
	}

	#begin(root) {
		const { maxTraces } = this.#limits;
		if (this.#open.size >= maxTraces) {
			const [idle] = this.#open;
			if (hasRootEnded(idle)) this.#finish(idle);
			else this.#drop(idle, `spans of idle traces, because ${maxTraces} were open`);
		}
		return { root, spans: new Map(), open: 0, bytes: 0 };
	}

	/** Adds to the size of a trace, and makes room by dropping traces; to finish one would free nothing yet. */
	#count(trace, bytes) {
		const { maxBytes } = this.#limits;
		trace.bytes += bytes;
		this.#bytes += bytes;
		if (trace.bytes > maxBytes)
			this.#drop(trace, `spans of traces with more than ${maxBytes} bytes`);
		while (this.#bytes > maxBytes && this.#open.size > 0) {
			const [idle] = this.#open;
			this.#drop(idle, `spans of idle traces, because there were more than ${maxBytes} bytes`);
		}
	}

	#touch(trace) {
		this.#open.delete(trace);
		this.#open.add(trace);
	}

	#finish(trace) {
		this.#remove(trace);
		const scored = this.#onFinished(trace.root, [...trace.spans.values()].filter(Boolean));
		if (scored) scored.then(() => this.#release(trace));
		else this.#release(trace);
	}

	#drop(trace, reason) {
		this.#remove(trace);
		this.#release(trace);
		this.#drops.add(reason, trace.spans.size);
		const { traceId } = trace.root;
		this.#dropped.delete(traceId);
		this.#dropped.add(traceId);
		const [oldest] = this.#dropped;
		if (this.#dropped.size > this.#limits.maxTraces) this.#dropped.delete(oldest);
	}

	#release({ bytes }) {
		this.#bytes -= bytes;
	}

	#remove(trace) {
		clearTimeout(trace.timer);
		this.#open.delete(trace);
		for (const spanId of trace.spans.keys()) this.#bySpan.delete(trace.root.traceId + spanId);
	}
};
