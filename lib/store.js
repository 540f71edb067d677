/**
 * Takes the calls of a scorer to the store that it shares with others, in batches and one round trip at
 * a time, and brings back the entries of the store.
 */
const { randomUUID } = require("node:crypto");
const { setImmediate: nextTurn, setTimeout: sleep } = require("node:timers/promises");
const { clearTimeout, setTimeout } = require("node:timers");
const { ScoringError } = require("./errors.js");
const { invalidOption } = require("./options.js");
const { onAbort, until } = require("./signals.js");

/** Calls in one round trip. */
const BATCH = 64;
/** Entries in one page. */
const PAGE = 256;
/** The time before each repetition of a round trip that has failed; after the last, its batch has failed. */
const PAUSES_MS = [50, 200];
/** How long a store that has failed is not asked again. */
const RETRY_MS = 1000;
/** Repetitions of a call are recognised for a minute. */
const LONGEST_TIMEOUT_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 5000;

/** Codes of errors that waiting does not mend. */
const LASTING = ["STORE_MISMATCH", "INVALID_STORE"];

let warned = false;

function storeError(code, message) {
	return new ScoringError(message, { code });
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

function ignore() {}

/** Returns why the store has failed; it may throw anything. */
function reasonOf(error) {
	return String(error?.message || error?.code || error);
}

/** Returns a request as an entry of the store. */
function entryOf({ request: { kind, id, embedding }, call }) {
	if (kind === "add") return { kind, call, id: id ?? null, embedding };
	return kind === "forget" ? { kind, call, id } : { kind, call };
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
				"a store with append() and read()",
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
		store,
		mode: storeMode ?? "auto",
		timeoutMs,
		maxElements,
		ttlMs: Number.isFinite(ttlMs) ? ttlMs : null,
	};
};

/** The connection of a native scorer with its store. */
exports.StoreLink = class StoreLink {
	#native;
	#packPage;
	#toError;
	#options;
	/** Calls without an answer. */
	#pending = 0;
	#running = false;
	#closed = new AbortController();
	/** What the store is asked with. */
	#header;
	#position;
	#keepFrom = null;
	/** Whether the store went on from the position of a snapshot. */
	#isResumed;
	/** Whether it has answered so far, and how it has failed since. */
	#isReached = false;
	#failure;
	#failedAt;

	constructor(native, packPage, toError, options) {
		this.#native = native;
		this.#packPage = packPage;
		this.#toError = toError;
		this.#options = options;
		this.#position = native.storePosition();
		this.#isResumed = this.#position !== null;
	}

	/** `ScoringStatus.store` of types/process.d.ts. */
	get status() {
		const { mode } = this.#options;
		return {
			mode,
			state: this.#failure ? "unavailable" : this.#isReached ? "ready" : "idle",
			reason: this.#failure ? reasonOf(this.#failure) : null,
			isResumed: this.#isResumed,
			epoch: this.#position?.epoch ?? null,
			seq: this.#position?.seq ?? null,
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
			// The mirror may be behind or beside the store, which is read anew.
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

	/** Repeats what has failed: the store recognises a call that it has. */
	async #attempt(requests) {
		const { maxElements, ttlMs } = this.#options;
		const batch = requests.map((request) => ({
			request,
			call: randomUUID(),
			isToAppend: request.kind !== "read",
		}));
		for (const pause of [...PAUSES_MS, undefined])
			try {
				this.#header ??= { model: await this.#native.fingerprint(), maxElements, ttlMs };
				return await this.#exchange(batch);
			} catch (thrown) {
				const isLasting = LASTING.includes(this.#toError(thrown)?.code);
				if (pause === undefined || isLasting || this.#closed.signal.aborted) throw thrown;
				await sleep(pause, undefined, { ref: false });
			}
	}

	/** Asks the store for the next page, for as long as it may take, and appends entries if there are some. */
	async #ask(entries) {
		const { store, timeoutMs } = this.#options;
		const time = new AbortController();
		const timer = setTimeout(() => {
			const text = `the store did not answer within ${timeoutMs} ms`;
			time.abort(storeError("STORE_UNAVAILABLE", text));
		}, timeoutMs);
		const closed = this.#closed.signal;
		const release = onAbort(closed, () => time.abort(closed.reason));
		try {
			const { signal } = time;
			const options = { header: this.#header, after: this.#position, limit: PAGE, signal };
			const asked = async () =>
				entries
					? store.append(entries, { ...options, keepFrom: this.#keepFrom })
					: store.read(options);
			return await until(signal, asked());
		} finally {
			clearTimeout(timer);
			release();
		}
	}

	/**
	 * Appends what is still to be appended, and reads until all of it, and everything that was there, has been
	 * applied.
	 */
	async #exchange(batch) {
		const calls = new Map(batch.map(({ call }, place) => [call, place]));
		const missing = new Map(
			batch.filter(({ isToAppend }) => isToAppend).map((item) => [item.call, item]),
		);
		const entries = [...missing.values()].map(entryOf);
		let isAppended = entries.length === 0;
		const append = () => {
			isAppended = true;
			return this.#ask(entries);
		};
		// What the store has must be known, and found valid, before anything is added to it.
		const isKnown = this.#isReached && this.#position !== null;
		let asked = isKnown && !isAppended ? append() : this.#ask();
		let head;
		for (;;) {
			const page = await asked;
			this.#isReached = true;
			this.#failure = undefined;
			try {
				// The turn in which the page has come was long already.
				if (page?.entries?.length > BATCH) await nextTurn();
				const packed = this.#packPage(page, this.#header, calls);
				const { epoch, rows } = packed;
				// Before it is applied, because the answers are there before this goes on.
				if (packed.reset) {
					this.#position = null;
					this.#isResumed = false;
				}
				const [last, , callOfLast] = rows.at(-1) ?? [];
				if (last) this.#position = { epoch, seq: last, call: callOfLast };
				const own = rows.map((row) => missing.get(row[2])).filter(Boolean);
				for (const { call } of own) missing.delete(call);
				head ??= packed.head;
				const seq = this.#position?.seq ?? 0;
				const isOver = missing.size === 0 && seq >= head;
				const hasMore = seq < packed.head;
				if (!isOver && hasMore) {
					// On its way while this one is applied.
					asked = this.#ask();
					asked.catch(ignore);
				}
				this.#keepFrom = await this.#native.apply(packed.json, packed.bytes);
				for (const item of own) item.isToAppend = false;
				if (isOver) break;
				if (hasMore) continue;
			} catch (thrown) {
				// The place of a page that is not applied may be none.
				this.#position = null;
				throw thrown;
			}
			// In a crash, for example.
			if (isAppended)
				throw storeError("STORE_UNAVAILABLE", "the store has lost what was appended to it");
			asked = append();
		}
		this.#native.finishBatch(Date.now());
	}
};
