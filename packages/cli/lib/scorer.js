/** The scorer of a command, with its memory. */
const { existsSync, statSync } = require("node:fs");
const { Scorer } = require("@knowledgepulse/scoring");
const { claimInput } = require("./claims.js");
const { InputError, atEnd, cannot } = require("./exit.js");
const { openFile } = require("./output.js");
const { warn } = require("./terminal.js");

async function readProfiles(job) {
	const path = job.options.profiles;
	if (path === undefined) return undefined;
	const { textOf } = require("./sources.js");
	const text = await textOf(path, job);
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new InputError(`${path}: expected JSON: ${error.message}`);
	}
}

/** Resolves to the profiles of a job, whose file is read once. */
function profilesOf(job) {
	job.profiles ??= readProfiles(job);
	return job.profiles;
}

/** A scorer with a copy of the memory in a store; without a model it needs none. */
async function copyOf(store, options) {
	const alone = new Scorer(options);
	const { embedder } = await alone.warmup();
	if (embedder.state !== "ready") return alone;
	alone.close();
	const shared = new Scorer({ ...options, store, storeMode: "required" });
	try {
		await shared.warmup();
		return await Scorer.restore(await shared.snapshot(), options);
	} finally {
		shared.close();
	}
}

function settingsOf(options, profiles) {
	const { embedder, precision, model, pooling, novelty } = options;
	return { embedder, precision, model, pooling, novelty, profiles };
}

async function scorerOf(options, { bounds, memory, profiles, saved, store }) {
	const settings = { ...settingsOf(options, profiles), cache: bounds };
	if (store && !saved) return copyOf(store, settings);
	const shared = store ? { ...settings, store, storeMode: "required" } : settings;
	// A memory that is only read must exist.
	if (!memory || (saved && !existsSync(memory))) return new Scorer(shared);
	if (!saved) claimInput(memory);
	try {
		if (!statSync(memory).isFile()) throw new InputError(`${memory}: expected a regular file`);
		return await Scorer.load(memory, shared);
	} catch (error) {
		throw error.syscall ? cannot("read", memory, error) : error;
	}
}

/** Opens the memory file for writing, once no other process does. */
async function memoryOf(path, { signal }) {
	const file = await openFile(path, { signal, mode: 0o600, isState: true });
	if (file.path === undefined) throw new InputError(`${path}: expected a regular file`);
	return file;
}

/** How long a store may take to tell its bounds, in milliseconds: as the attempts of a scorer. */
const PATIENCE_MS = 15_000;

/** The bounds of what is compared, as a namespace of a store has them; nothing if there is none yet. */
async function boundsOf(store) {
	const signal = AbortSignal.timeout(PATIENCE_MS);
	const header = await store?.header({ signal }).catch(require("./store.js").failed);
	return header ? { maxElements: header.maxElements, ttlMs: header.ttlMs ?? undefined } : undefined;
}

/**
 * Opens the memory, if there is one, and loads the model. Traces are added to a copy, unless `saved` is set. `known` is
 * what is to be done with runs that the memory has: they are scored `again`, or skipped.
 */
async function openScorer(
	job,
	{ saved = false, again = !saved, memory = job.options.memory } = {},
) {
	const { options } = job;
	const { store: url = memory === undefined && process.env.KP_SCORE_STORE } = options;
	const found = url ? require("./store.js").storeOf(url, saved) : undefined;
	if (found) atEnd(() => found.close());
	const bounds = url ? await job.until(boundsOf(found)) : undefined;
	// Reading creates none.
	const store = saved || bounds ? found : undefined;
	if (url && !store) warn("the store has no such namespace yet: runs are compared with nothing");
	if (store && saved) job.output.unfinished?.follow(store);
	const file = saved && memory && (await memoryOf(memory, job));
	const profiles = await profilesOf(job);
	const scorer = await job.until(scorerOf(options, { bounds, memory, profiles, saved, store }));
	atEnd(() => scorer.close());
	// This also reads the store.
	if (options.embedder === "required" || (store && saved)) await job.until(scorer.warmup());
	return {
		known: url || memory ? (again ? "again" : "skip") : "score",
		profiles,
		scorer,
		/** Writes the memory back, if there is a file for it. */
		async save() {
			if (!file) return;
			await file.write(await scorer.snapshot());
			await file.commit();
		},
	};
}

module.exports = { openScorer, profilesOf, settingsOf };
