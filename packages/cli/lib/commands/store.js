/** kp-score store */
const { Exit, InputError, atEnd } = require("../exit.js");
const { time } = require("../options.js");
const { Output, show } = require("../output.js");
const { settingsOf } = require("../scorer.js");
const { failed, storeOf } = require("../store.js");
const { style } = require("../terminal.js");

/** The number of entries that are read at once. */
const PAGE = 1000;

const { signal } = new AbortController();

const isoOf = (entry) => (entry ? new Date(entry.at).toISOString() : null);

/** Makes tables that are missing, and, with bounds or a kind of novelty, a namespace. */
async function init(store, { url, options }) {
	await store.migrate?.();
	const { maxElements, ttlMs, novelty } = options;
	const isNamed = [maxElements, ttlMs, novelty].some((given) => given !== undefined);
	// SQLite makes its tables when it is first read.
	if (!isNamed && !(await store.header({ signal }))) return { tables: "ready" };
	if (isNamed) {
		const { Scorer } = require("@knowledgepulse/scoring");
		const cache = { maxElements, ttlMs };
		const settings = { ...settingsOf(options), cache, store, storeMode: "required" };
		const scorer = new Scorer({ ...settings, embedder: "required" });
		atEnd(() => scorer.close());
		await scorer.warmup();
	}
	return status(store, { url });
}

/** What a store has of the namespace. @throws {InputError} if it has none. */
async function headerOf(store) {
	const header = await store?.header({ signal });
	if (!header) throw new InputError("the store has no such namespace yet");
	return header;
}

async function status(store, { url }) {
	const header = await headerOf(store);
	let [after, oldest, newest] = [null];
	/** The numbers of the entries of each id that are not forgotten, and of their bytes. */
	const runs = new Map();
	for (let head = 1; (after?.seq ?? 0) < head; ) {
		const page = await store.read({ header, after, limit: PAGE, signal });
		if (page.entries.length === 0) break;
		for (const { embedding, id, kind } of page.entries) {
			const { entries = 0, bytes = 0 } = runs.get(id) ?? {};
			if (kind === "add")
				runs.set(id, { entries: entries + 1, bytes: bytes + (embedding?.length ?? 0) });
			else if (kind === "forget") runs.delete(id);
			else runs.clear();
		}
		oldest ??= page.entries[0];
		newest = page.entries.at(-1);
		after = { epoch: page.epoch, seq: newest.seq, call: newest.call };
		head = page.head;
	}
	const namespace = new URLSearchParams(url.split("?")[1]).get("namespace") ?? "default";
	const sumOf = (name) => [...runs.values()].reduce((sum, run) => sum + run[name], 0);
	const written = { oldest: isoOf(oldest), newest: isoOf(newest) };
	return { namespace, entries: sumOf("entries"), bytes: sumOf("bytes"), ...written, ...header };
}

const list = async (store) => ({ namespace: (await store?.namespaces()) ?? [] });

async function drop(store, { value: namespace }) {
	if (!(await store?.drop(namespace)))
		throw new InputError(`no namespace ${namespace} in the store`);
	return { dropped: namespace };
}

async function forgetBefore(store, { value }) {
	let before;
	try {
		before = new Date(time()(value));
	} catch ({ message }) {
		throw new InputError(`forget-before ${value}: ${message}`);
	}
	await headerOf(store);
	return { forgotten: await store.forgetBefore(before) };
}

/** The actions, and the values that they need. */
const ACTIONS = {
	init: [init],
	list: [list],
	status: [status],
	drop: [drop, "NAMESPACE"],
	"forget-before": [forgetBefore, "DATE"],
};

const textOf = (found) =>
	Object.entries(found)
		.flatMap(([name, value]) =>
			[value ?? "none"].flat().map((one) => `${style("dim", name.padEnd(11))} ${one}\n`),
		)
		.join("");

module.exports = async function administer([action, value], options) {
	const [act, needed] = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : [];
	if (!act)
		throw new InputError(`store: expected ${Object.keys(ACTIONS).join(", ")}, found ${action}`);
	if ((value === undefined) !== (needed === undefined))
		throw new InputError(
			`store ${action}: expected ${needed ?? "no value"}, found ${value ?? "none"}`,
		);
	const url = options.store ?? process.env.KP_SCORE_STORE;
	if (!url)
		throw new InputError(
			"--store or the environment variable KP_SCORE_STORE is needed: which store?",
		);
	const creates = act === init && /^sqlite:/i.test(url);
	const store = storeOf(
		creates ? `${url}${url.includes("?") ? "&" : "?"}create=1` : url,
		act === init,
	);
	if (store) atEnd(() => store.close());
	const output = new Output(process.stdout, options);
	const found = await act(store, { url, value, options }).catch(failed);
	await show(output, found, textOf);
	await output.commit();
	return Exit.OK;
};
