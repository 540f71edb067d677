/** Sends the calls of a scorer to its store in batches, one round trip at a time, and passes its entries back. */
const { AsyncLocalStorage } = require("node:async_hooks");
const { randomUUID } = require("node:crypto");
const { setImmediate: nextTurn, setTimeout: sleep } = require("node:timers/promises");
const { clearTimeout, setTimeout } = require("node:timers");
const { ScoringError, reasonOf } = require("./errors.js");
const { toError } = require("./native.js");
const { own } = require("./options.js");
const { checkPage, packPage } = require("./page.js");
const { ignore, onAbort, until } = require("./signals.js");

/** Calls in one round trip. */
const BATCH = 64;
/** Entries in one page. */
const PAGE = 192;
/** How often one attempt may start again with the oldest entry: at first, and after crashes of the store. */
const MOST_RESETS = 3;
/** The pause before each retry of a failed round trip, in milliseconds. */
const PAUSES_MS = [50, 200];
/** How long a failed store is not asked again. */
const RETRY_MS = 1000;

const LASTING = ["STORE_MISMATCH", "INVALID_STORE"];

let warned = false;

const storeError = (code, message) => new ScoringError(message, { code });

function warn(reason) {
	if (warned) return;
	warned = true;
	process.emitWarning(
		`@knowledgepulse/scoring works without its store, so every novelty is 0.5: ${reason}`,
		"KnowledgePulseWarning",
		"KNOWLEDGEPULSE_NO_STORE",
	);
}

function entryOf({ kind, id, embedding }, call) {
	if (kind === "add") return { kind, call, id: id ?? null, embedding };
	return kind === "forget" ? { kind, call, id } : { kind, call };
}

exports.StoreLink = class StoreLink {
	#native;
	#options;
	#pending = 0;
	#running = false;
	/** Runs functions in the async context in which the scorer was made, since a batch belongs to no single call. */
	#inContext = AsyncLocalStorage.snapshot();
	#closed = new AbortController();
	/** The state for requests to the store. */
	#header;
	#position;
	#keepFrom = null;
	/** Whether the store continued from the position of a snapshot. */
	#isResumed;
	/** Whether the store has ever answered, and its latest failure since. */
	#isReached = false;
	#failure;
	/** When a failed store is asked again. */
	#retryAt = 0;

	constructor(native, options) {
		const { store, storeMode = "auto", storeTimeoutMs = 5000 } = options;
		const { maxElements = 1000, ttlMs } = own(options.cache);
		this.#native = native;
		this.#options = { store, mode: storeMode, timeoutMs: storeTimeoutMs };
		this.#header = { model: undefined, maxElements, ttlMs: Number.isFinite(ttlMs) ? ttlMs : null };
		this.#position = JSON.parse(native.storePosition());
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

	carry(promise) {
		this.#pending += 1;
		const settled = () => {
			this.#pending -= 1;
			if (this.#pending === 0) this.#native.endWait();
		};
		promise.then(settled, settled);
		if (!this.#running) void this.#inContext(() => this.#run());
	}

	close() {
		this.#closed.abort(storeError("CLOSED", "the scorer is closed"));
	}

	async #run() {
		this.#running = true;
		while (this.#pending > 0 && !this.#closed.signal.aborted)
			try {
				// The batch is empty if the calls need nothing from the store, or `endWait` was called.
				const requests = await this.#native.nextBatch(BATCH);
				if (requests.length > 0) await this.#settle(requests);
			} catch {
				// The next batch answers the calls of a lost one. Should none come, this must not use up a core.
				await sleep(RETRY_MS, undefined, { ref: false });
			}
		this.#running = false;
	}

	/** Answers all requests, even if the store fails. */
	async #settle(requests) {
		if (performance.now() < this.#retryAt) return this.#fail(this.#failure);
		try {
			await this.#attempt(requests);
		} catch (thrown) {
			// All calls are answered already.
			if (this.#closed.signal.aborted) return;
			const error = toError(thrown);
			const isLasting = LASTING.includes(error?.code);
			// The mirror may contradict the store, so read it anew.
			if (isLasting) this.#position = null;
			this.#failure = error;
			// Such an error may be mended at any time, so ask again with the next batch.
			this.#retryAt = isLasting ? 0 : performance.now() + RETRY_MS;
			this.#fail(error);
		}
	}

	#fail(error) {
		const message = reasonOf(error);
		if (LASTING.includes(error?.code)) return this.#native.failBatch(error.code, message);
		if (this.#options.mode === "auto") warn(message);
		this.#native.failBatch("STORE_UNAVAILABLE", message);
	}

	/** Retries failed round trips; the store recognises calls that it has. */
	async #attempt(requests) {
		/** The places of the calls, and the entries that are not applied yet. */
		const calls = new Map(requests.map((_, place) => [randomUUID(), place]));
		const missing = new Map();
		for (const [call, place] of calls) {
			const request = requests[place];
			if (request.kind !== "read") missing.set(call, entryOf(request, call));
		}
		for (const pause of [...PAUSES_MS, undefined])
			try {
				if (this.#header.model === undefined) {
					this.#header.model = await this.#native.fingerprint();
					// A snapshot with vectors of another length is not continued.
					this.#position = JSON.parse(this.#native.storePosition());
				}
				return await this.#exchange(calls, missing);
			} catch (thrown) {
				const isLasting = LASTING.includes(toError(thrown)?.code);
				if (pause === undefined || isLasting || this.#closed.signal.aborted) throw thrown;
				await sleep(pause, undefined, { ref: false });
			}
	}

	/** Requests the next page of the store within the time limit, and appends the entries, if any. */
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

	/** Appends the missing entries, and reads until they and all earlier entries are applied. */
	async #exchange(calls, missing) {
		const entries = [...missing.values()];
		let isAppended = false;
		/** The entry to read up to. Not the newest one, because others may append faster than this reads. */
		let head;
		let resets = 0;
		const append = () => {
			isAppended = true;
			head = undefined;
			return this.#ask(entries);
		};
		// Nothing is appended before the store was read and found valid.
		const isKnown = this.#isReached && this.#position !== null;
		let asked = isKnown && entries.length > 0 ? append() : this.#ask();
		for (;;) {
			const received = await asked;
			this.#isReached = true;
			this.#failure = undefined;
			try {
				const page = checkPage(received, this.#header);
				// First, because callers may see the answers before `apply` resolves.
				if (page.reset) {
					this.#position = null;
					this.#isResumed = false;
					head = undefined;
					resets += 1;
					if (resets > MOST_RESETS)
						throw storeError("STORE_UNAVAILABLE", `the store began anew ${resets} times`);
				}
				const last = page.entries.at(-1);
				if (last) this.#position = { epoch: page.epoch, seq: last.seq, call: last.call };
				head ??= page.head;
				const hasMore = (this.#position?.seq ?? 0) < Math.min(head, page.head);
				if (hasMore) {
					// Requested while this page is packed and applied.
					asked = this.#ask();
					asked.catch(ignore);
				}
				// Receiving the page has taken long already, so yield to the event loop.
				if (page.entries.length > BATCH) await nextTurn();
				const { json, bytes, rows } = packPage(page, calls);
				this.#keepFrom = await this.#native.apply(json, bytes);
				for (const [, , call] of rows) missing.delete(call);
				if (hasMore) continue;
				if (missing.size === 0) break;
			} catch (thrown) {
				// The position of a page that was not applied may not exist.
				this.#position = null;
				throw thrown;
			}
			// For example in a crash.
			if (isAppended)
				throw storeError("STORE_UNAVAILABLE", "the store has lost what was appended to it");
			asked = append();
		}
		await this.#native.finishBatch(Date.now());
	}
};
