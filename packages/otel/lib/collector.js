/** Collects spans until the local root above them, and what outlives it, has ended. */
const { Buffer } = require("node:buffer");
const { clearTimeout, setTimeout } = require("node:timers");
const { diag } = require("@opentelemetry/api");
const { name } = require("../package.json");

/** The least time between two reports under load. */
const INTERVAL_MS = 10_000;

/** Counts dropped spans, and reports them through OpenTelemetry's diagnostics. */
class Drops {
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
}

/*
 * A trace here has a `root`, a span without a parent in this process; `ids`, of the root and all spans below it; `spans`,
 * those of them that are kept or open, by id in the order in which they began, `undefined` until they end; `open`, the
 * number of the latter; `bytes`, the size of the others; `isGenAi`, whether one is of generative AI; `hasEnded`, whether
 * the root has; `timer`, which then ends the wait for others; and `closed`, in the end: "scored" or "dropped".
 */

class Collector {
	#limits;
	#onFinished;
	#drops;
	/** By trace id and span id: remote parents may give a trace several local roots. */
	#bySpan = new Map();
	/** The traces that are collected, the least recently active first. */
	#open = new Set();
	/** Traces that have ended without generative AI, oldest first. A later span resumes them. */
	#empty = new Set();
	/** Traces that were scored or dropped, the least recently active first. Their later spans are dropped. */
	#closed = new Set();
	/** The number of ids of the traces in these two. */
	#known = 0;
	/** The size of the spans of open traces, and of complete ones that are not scored yet. */
	#bytes = 0;

	/**
	 * `onFinished` gets the root and the ended spans of a finished trace with generative AI. They are held until
	 * its promise, if any, resolves.
	 */
	constructor(limits, drops, onFinished) {
		this.#limits = limits;
		this.#drops = drops;
		this.#onFinished = onFinished;
	}

	start(spanContext, parent) {
		const { traceId, spanId } = spanContext;
		const isRoot = !parent || parent.isRemote === true;
		const above = isRoot ? undefined : this.#bySpan.get(traceId + parent.spanId);
		const trace = above ?? { root: spanContext, ids: [], spans: new Map(), open: 0, bytes: 0 };
		if (!trace.closed) this.#touch(trace);
		// Also in a closed trace, for the spans below it.
		trace.ids.push(traceId + spanId);
		this.#bySpan.set(traceId + spanId, trace);
		if (trace.closed === "dropped") this.#drops.add("later spans of dropped traces", 1);
		if (trace.closed) return this.#remember(trace, this.#closed);
		trace.spans.set(spanId, undefined);
		trace.open += 1;
		const { maxSpans } = this.#limits;
		if (trace.spans.size > maxSpans)
			this.#drop(trace, `spans of traces with more than ${maxSpans}`);
	}

	end(span) {
		const trace = this.#bySpan.get(span.traceId + span.spanId);
		const isLate = trace?.closed === "scored" && span.isGenAi;
		if (isLate) this.#drops.add("late spans of finished traces", 1);
		if (!trace || trace.closed) return;
		trace.spans.set(span.spanId, span);
		trace.open -= 1;
		trace.isGenAi ||= span.isGenAi;
		const isRoot = span.spanId === trace.root.spanId;
		trace.hasEnded ||= isRoot;
		this.#touch(trace);
		if (span.isCut) return this.#drop(trace, "spans of traces that span limits have cut");
		this.#count(trace, Buffer.byteLength(span.line));
		if (!this.#open.has(trace) || !trace.hasEnded || trace.open > 0) return;
		// After the root, another call of the same run may follow.
		if (isRoot || !trace.isGenAi) this.#finish(trace);
	}

	/** Finishes the traces that only wait for spans after their root has ended. */
	flush() {
		for (const trace of [...this.#open]) if (trace.hasEnded) this.#finish(trace);
	}

	close() {
		this.flush();
		for (const trace of [...this.#open])
			this.#drop(trace, "spans of traces that were open at shutdown");
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

	/** Makes a trace the most recently active one, and makes room for it. The wait after its root begins anew. */
	#touch(trace) {
		const { maxTraces, waitMs } = this.#limits;
		const [idle] = this.#open;
		if (this.#empty.delete(trace)) this.#known -= trace.ids.length;
		if (!this.#open.delete(trace) && this.#open.size >= maxTraces) {
			if (idle.hasEnded) this.#finish(idle);
			if (this.#open.has(idle))
				this.#drop(idle, `spans of idle traces, because ${maxTraces} were open`);
		}
		this.#open.add(trace);
		clearTimeout(trace.timer);
		if (trace.hasEnded) trace.timer = setTimeout(() => this.#finish(trace), waitMs).unref();
	}

	/** Finishes a trace, unless a span has ended whose parent is open: without that, it would be several runs. */
	#finish(trace) {
		const ended = [...trace.spans.values()].filter(Boolean);
		const isOpen = (id) => trace.spans.has(id) && !trace.spans.get(id);
		if (ended.some(({ parentSpanId }) => isOpen(parentSpanId))) return;
		if (trace.isGenAi) trace.closed = "scored";
		this.#retire(trace, trace.isGenAi ? this.#closed : this.#empty);
		const scored = trace.isGenAi && this.#onFinished(trace.root, ended);
		if (scored) scored.then(() => this.#release(trace));
		else this.#release(trace);
	}

	#drop(trace, reason) {
		trace.closed = "dropped";
		this.#drops.add(reason, trace.spans.size);
		this.#retire(trace, this.#closed);
		this.#release(trace);
	}

	#release(trace) {
		this.#bytes -= trace.bytes;
		trace.bytes = 0;
	}

	/** Ends the collection of a trace, of which only the ids remain. */
	#retire(trace, finished) {
		clearTimeout(trace.timer);
		this.#open.delete(trace);
		for (const [spanId, span] of trace.spans) if (span) trace.spans.delete(spanId);
		this.#remember(trace, finished);
	}

	/** Remembers a finished trace, and forgets others beyond 100 × `maxTraces` spans: first those without generative AI. */
	#remember(trace, finished) {
		this.#known += finished.delete(trace) ? 1 : trace.ids.length;
		finished.add(trace);
		while (this.#known > 100 * this.#limits.maxTraces) {
			const traces = this.#empty.size > 0 ? this.#empty : this.#closed;
			const [oldest] = traces;
			traces.delete(oldest);
			this.#known -= oldest.ids.length;
			for (const id of oldest.ids) this.#bySpan.delete(id);
		}
	}
}

module.exports = { Collector, Drops };
