/**
 * Carries the calls of a scorer to the log that it shares with others, in batches and one round trip at
 * a time, and brings back what the log has.
 */
const { randomUUID } = require("node:crypto");
const { setTimeout: sleep } = require("node:timers/promises");
const { clearTimeout, setTimeout } = require("node:timers");
const {
	inspect,
	types: { isUint8Array },
} = require("node:util");
const { ScoringError } = require("./errors.js");
const { invalidOption } = require("./options.js");
const { until } = require("./signals.js");

/** Calls in one round trip. */
const BATCH = 64;
/** Entries in one page. */
const PAGE = 256;
/** Entries that are checked and copied at a time: a fraction of a millisecond. */
const SLICE = 128;
/** Round trips for one batch until it has failed, and the time before each further one. */
const PAUSES_MS = [50, 200];
/** How long a store that has failed is not asked again. */
const RETRY_MS = 1000;
/** Repetitions of a call are recognised for a minute. */
const LONGEST_TIMEOUT_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 5000;
/** As the addon calls them. */
const KINDS = { add: 0, forget: 2, clear: 3 };
const ADD_WITHOUT_VECTOR = 1;

/** Found for a request that asks nothing. */
const NOTHING = { seq: 0n, maxSimilarity: null, nearest: null };

/** Codes of errors that waiting does not mend. */
const LASTING = ["STORE_MISMATCH", "INVALID_STORE"];

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

let warned = false;

function storeError(code, message, cause) {
	return new ScoringError(message, { ...{ code, cause } });
}

function invalid(what, expected, found) {
	return storeError(
		"INVALID_STORE",
		`${what} of the store: expected ${expected}, got ${inspect(found, { depth: 0 })}`,
	);
}

function warn(reason) {
	if (warned) return;
	warned = true;
	process.emitWarning(
		`@knowledgepulse/scoring works without its store, so every novelty is 0.5: ${reason}`,
		"KnowledgePulseWarning",
		"KNOWLEDGEPULSE_NO_STORE",
	);
}

function isWhole(value, least) {
	return typeof value === "bigint" && value >= least && value <= BigInt(Number.MAX_SAFE_INTEGER);
}

function checkEntry(entry, index, vectorBytes) {
	const { seq, at, kind, call, id, embedding } = entry ?? {};
	if (!isWhole(seq, 1n)) throw invalid(`entries[${index}].seq`, "a bigint from 1 to 2^53 - 1", seq);
	const wrong = (field, expected, found) => invalid(`${field} of entry ${seq}`, expected, found);
	if (!Number.isSafeInteger(at) || at < 0) throw wrong("at", "a whole number of milliseconds", at);
	if (!Object.hasOwn(KINDS, kind)) throw wrong("kind", '"add", "forget" or "clear"', kind);
	if (!UUID.test(call)) throw wrong("call", "a UUID", call);
	if (id !== null && typeof id !== "string") throw wrong("id", "a string or null", id);
	if (kind === "forget" && id === null) throw wrong("id", "a string", id);
	if (kind !== "add" || embedding === null) return;
	if (!isUint8Array(embedding)) throw wrong("embedding", "a Uint8Array or null", embedding);
	if (embedding.length !== vectorBytes)
		throw wrong("embedding.length", vectorBytes, embedding.length);
}

function checkPage(page, vectorBytes) {
	const { header, epoch, head, first, reset, entries } = page ?? {};
	if (header === null || typeof header !== "object") throw invalid("header", "an object", header);
	if (typeof epoch !== "string") throw invalid("epoch", "a string", epoch);
	if (!isWhole(head, 0n)) throw invalid("head", "a bigint, 0 or more", head);
	if (!isWhole(first, 1n)) throw invalid("first", "a bigint, 1 or more", first);
	if (typeof reset !== "boolean") throw invalid("reset", "a boolean", reset);
	if (!Array.isArray(entries)) throw invalid("entries", "an array", entries);
	if (entries.length > 0) checkEntry(entries.at(-1), entries.length - 1, vectorBytes);
}

function checkComparison(comparison, index) {
	const wrong = (field, expected, found) =>
		invalid(`comparisons[${index}].${field}`, expected, found);
	const { seq, maxSimilarity, nearest, removed = 0 } = comparison ?? {};
	if (!isWhole(seq, 0n)) throw wrong("seq", "a bigint from 0 to 2^53 - 1", seq);
	// Rounding in the database may carry it past 1.
	const isSimilarity = typeof maxSimilarity === "number" && Math.abs(maxSimilarity) <= 1.0001;
	if (maxSimilarity !== null && !isSimilarity)
		throw wrong("maxSimilarity", "a number in [-1, 1] or null", maxSimilarity);
	if (nearest !== null && typeof nearest !== "string")
		throw wrong("nearest", "a string or null", nearest);
	if (!Number.isSafeInteger(removed) || removed < 0)
		throw wrong("removed", "a whole number or nothing", removed);
	return {
		seq: Number(seq),
		maxSimilarity: maxSimilarity === null ? undefined : Math.min(1, Math.max(-1, maxSimilarity)),
		nearest: nearest ?? undefined,
		removed,
	};
}

/**
 * A page as the addon takes it; `own` tells which request an entry comes from, by its call. Each vector has
 * `vectorBytes` of float32.
 */
function pack({ reset, isLast, entries }, own, vectorBytes) {
	const count = entries.length;
	const vectors = entries.filter(
		({ kind, embedding, call }) => kind === "add" && embedding !== null && !own.has(call),
	);
	const packed = {
		...{ reset, isLast },
		seqs: new Float64Array(count),
		times: new Float64Array(count),
		kinds: new Uint8Array(count),
		own: new Int32Array(count),
		ids: entries.map(({ id }) => id ?? undefined),
		vectors: new Uint8Array(vectors.length * vectorBytes),
	};
	for (const [index, { embedding }] of vectors.entries())
		packed.vectors.set(embedding, index * vectorBytes);
	for (const [index, { seq, at, kind, call, embedding }] of entries.entries()) {
		const isOwn = own.has(call);
		packed.seqs[index] = Number(seq);
		packed.times[index] = at;
		packed.kinds[index] =
			kind === "add" && (isOwn || embedding === null) ? ADD_WITHOUT_VECTOR : KINDS[kind];
		packed.own[index] = isOwn ? own.get(call).index : -1;
	}
	return packed;
}

function ignore() {}

/** Why the log has failed; it may throw anything. */
function reasonOf(error) {
	return String(error?.message || error?.code || error);
}

/** Reads the options of a scorer that concern its store; undefined for a scorer without one. */
exports.storeOptions = function storeOptions(options) {
	if (options === null || typeof options !== "object") return undefined;
	const { store, storeMode, storeTimeoutMs, cache } = options;
	if (store === undefined) {
		for (const name of ["storeMode", "storeTimeoutMs"])
			if (options[name] !== undefined)
				throw invalidOption(name, "no such option without store", "one");
		return undefined;
	}
	for (const method of ["append", "read"])
		if (typeof store?.[method] !== "function")
			throw invalidOption(
				"store",
				"a log with append() and read()",
				store === null ? "null" : typeof store,
			);
	const timeoutMs = storeTimeoutMs ?? DEFAULT_TIMEOUT_MS;
	if (!(timeoutMs >= 1 && timeoutMs <= LONGEST_TIMEOUT_MS))
		throw invalidOption(
			"storeTimeoutMs",
			`a number of milliseconds from 1 to ${LONGEST_TIMEOUT_MS}`,
			String(storeTimeoutMs),
		);
	const { maxElements = 1000, ttlMs } = cache ?? {};
	return {
		log: store,
		mode: storeMode ?? "auto",
		timeoutMs,
		maxElements,
		ttlMs: Number.isFinite(ttlMs) ? ttlMs : null,
	};
};

/** The way between a native scorer and its log. */
exports.StoreLink = class StoreLink {
	#native;
	#toError;
	#options;
	/** Calls without an answer. */
	#pending = 0;
	#running = false;
	#closed = new AbortController();
	/** What the log is asked with. */
	#header;
	#position = null;
	#keepFrom = null;
	/** Whether it has answered so far, and how it has failed since. */
	#isReached = false;
	#failure;
	#failedAt;

	constructor(native, toError, options) {
		this.#native = native;
		this.#toError = toError;
		this.#options = options;
	}

	/** `ScoringStatus.store` of index.d.ts. */
	get status() {
		const { mode } = this.#options;
		return {
			mode,
			state: this.#failure ? "unavailable" : this.#isReached ? "ready" : "idle",
			reason: this.#failure ? reasonOf(this.#failure) : null,
			epoch: this.#position?.epoch ?? null,
			seq: this.#position === null ? null : Number(this.#position.seq),
		};
	}

	/** Carries a call that has just been made, of which this is the promise. */
	carry(promise) {
		this.#pending += 1;
		const settled = () => {
			this.#pending -= 1;
		};
		promise.then(settled, settled);
		if (!this.#running) void this.#run();
	}

	close() {
		this.#closed.abort(storeError("CLOSED", "the scorer is closed"));
	}

	async #run() {
		this.#running = true;
		// Every call gets here at last, even one that needs nothing; then the batch may be empty.
		while (this.#pending > 0 && !this.#closed.signal.aborted) {
			// When a batch is lost, the next one answers its calls.
			const requests = await this.#native.nextBatch(BATCH).catch(() => []);
			if (requests.length > 0) await this.#settle(requests);
		}
		this.#running = false;
	}

	/** Answers all requests, one way or another. */
	async #settle(requests) {
		if (this.#failure && performance.now() - this.#failedAt < RETRY_MS)
			return this.#fail(this.#failure);
		try {
			await this.#attempt(requests);
		} catch (thrown) {
			// All calls have their answers.
			if (this.#closed.signal.aborted) return;
			const error = this.#toError(thrown);
			const isLasting = LASTING.includes(error?.code);
			// The mirror may be behind or beside the log: it is read anew.
			if (isLasting) this.#position = null;
			this.#failure = error;
			// What waiting does not mend may be mended at any time.
			this.#failedAt = isLasting ? -RETRY_MS : performance.now();
			this.#fail(error);
		}
	}

	#fail(error) {
		const message = reasonOf(error);
		if (LASTING.includes(error?.code)) return this.#native.failBatch(error.code, message);
		if (this.#options.mode === "auto") warn(message);
		this.#native.failBatch("STORE_UNAVAILABLE", message);
	}

	/** Repeats what has failed: a call that has reached the log is recognised there. */
	async #attempt(requests) {
		const batch = requests.map((request, index) => ({
			...{ request, index, call: randomUUID() },
		}));
		for (const pause of [...PAUSES_MS, undefined])
			try {
				this.#header ??= {
					model: await this.#native.fingerprint(),
					maxElements: this.#options.maxElements,
					ttlMs: this.#options.ttlMs,
				};
				return await (typeof this.#options.log.compare === "function"
					? this.#compare(batch)
					: this.#exchange(batch));
			} catch (thrown) {
				const isLasting = LASTING.includes(this.#toError(thrown)?.code);
				if (pause === undefined || isLasting || this.#closed.signal.aborted) throw thrown;
				await sleep(pause, undefined, { ref: false });
			}
	}

	/** Asks the log, for as long as it may take. */
	async #ask(method, ...parameters) {
		const { log, timeoutMs } = this.#options;
		const time = new AbortController();
		const timer = setTimeout(() => {
			const text = `the store did not answer within ${timeoutMs} ms`;
			time.abort(storeError("STORE_UNAVAILABLE", text));
		}, timeoutMs);
		const stop = () => time.abort(this.#closed.signal.reason);
		this.#closed.signal.addEventListener("abort", stop);
		try {
			const options = { ...parameters.pop(), signal: time.signal };
			const { signal } = options;
			const asked = async () => log[method](...parameters, options);
			const answer = await until(signal, asked());
			this.#isReached = true;
			this.#failure = undefined;
			return answer;
		} finally {
			clearTimeout(timer);
			this.#closed.signal.removeEventListener("abort", stop);
		}
	}

	async #compare(batch) {
		// A log that compares by itself has nothing to be read.
		const asking = batch.filter(({ request }) => request.kind !== "read");
		const found = batch.map(() => NOTHING);
		if (asking.length > 0) {
			const options = { header: this.#header, keepFrom: null };
			const answer = await this.#ask("compare", asking.map(entryOf), options);
			if (!Array.isArray(answer) || answer.length !== asking.length)
				throw invalid("comparisons", `${asking.length}`, answer?.length);
			for (const [at, { index }] of asking.entries()) found[index] = answer[at];
		}
		this.#native.finishCompared(found.map(checkComparison));
	}

	/**
	 * Appends what is still to be appended, and reads until all of it, and all that was there, has been
	 * applied.
	 */
	async #exchange(batch) {
		const appending = batch.filter(
			({ request, isApplied }) => request.kind !== "peek" && request.kind !== "read" && !isApplied,
		);
		const own = new Map(appending.map((item) => [item.call, item]));
		const entries = appending.map(entryOf);
		let isAppended = entries.length === 0;
		const append = () => {
			isAppended = true;
			return this.#ask("append", entries, this.#reading(true));
		};
		const read = () => this.#ask("read", this.#reading(false));
		// What the log has must be known, and found sound, before anything is added to it.
		let asked = isAppended || this.#position === null ? read() : append();
		let head;
		for (;;) {
			const page = await asked;
			checkPage(page, this.#vectorBytes);
			this.#checkHeader(page.header);
			const applied = this.#apply(page, own);
			applied.catch(ignore);
			head ??= page.head;
			const seq = this.#position?.seq ?? 0n;
			const isOver = own.size === 0 && seq >= head;
			if (!isOver && seq < page.head) {
				if (page.entries.length === 0) throw invalid("entries", `those after ${seq}`, "none");
				// On its way while this one is applied.
				asked = read();
				asked.catch(ignore);
			}
			await applied;
			if (isOver) break;
			if (seq < page.head) continue;
			// In a crash, for example.
			if (isAppended)
				throw storeError("STORE_UNAVAILABLE", "the store has lost what was appended to it");
			asked = append();
		}
		this.#native.finishBatch(Date.now());
	}

	/** The length of the vectors, which is known with the header. */
	get #vectorBytes() {
		return this.#native.dimensions * Float32Array.BYTES_PER_ELEMENT;
	}

	#reading(isAppending) {
		return {
			header: this.#header,
			after: this.#position,
			limit: PAGE,
			...(isAppending && { keepFrom: this.#keepFrom }),
		};
	}

	#checkHeader(found) {
		for (const [name, expected] of Object.entries(this.#header))
			if (found[name] !== expected)
				throw storeError(
					"STORE_MISMATCH",
					`the namespace of the store has ${name} ${String(found[name])}, this scorer ${String(expected)}`,
				);
	}

	async #apply(page, own) {
		const { epoch, first, reset, entries } = page;
		const last = entries.at(-1);
		if (!reset && this.#position !== null && epoch !== this.#position.epoch)
			throw invalid("epoch", this.#position.epoch, epoch);
		if (!reset && this.#position === null) throw invalid("reset", "true", reset);
		if (reset && last && entries[0]?.seq !== first)
			throw invalid("entries[0].seq", first, entries[0]?.seq);
		// Before, because the answers are there before this goes on.
		if (reset) this.#position = null;
		if (last) this.#position = { epoch, seq: last.seq, call: last.call };
		const mine = new Map(own);
		for (const entry of entries) own.delete(entry?.call);
		try {
			for (let start = 0; start === 0 || start < entries.length; start += SLICE)
				await this.#applySlice(page, start, mine);
		} catch (thrown) {
			this.#position = null;
			throw thrown;
		}
	}

	async #applySlice({ head, reset, entries }, start, own) {
		const slice = entries.slice(start, start + SLICE);
		for (const [index, entry] of slice.entries())
			checkEntry(entry, start + index, this.#vectorBytes);
		const page = {
			reset: reset && start === 0,
			isLast: entries.length === 0 || slice.at(-1)?.seq === head,
			entries: slice,
		};
		const packed = pack(page, own, this.#vectorBytes);
		this.#keepFrom = await this.#native.apply(packed);
		for (const { call } of slice) {
			const item = own.get(call);
			if (item) item.isApplied = true;
		}
	}
};

/** A request as an entry of the log. */
function entryOf({ request: { kind, id, embedding }, call }) {
	if (kind === "add") return { kind, call, id: id ?? null, embedding };
	if (kind === "forget") return { kind, call, id };
	if (kind === "peek") return { kind, embedding };
	return { kind, call };
}
