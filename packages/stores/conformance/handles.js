/** Signals and `close`, of any log. */
const assert = require("node:assert/strict");
const { getEventListeners } = require("node:events");
const { add, adds, callsOf, options } = require("./store.js");

/** What every log can do, by the methods that it has. */
function methodsOf(log, compares) {
	const send = (entries, call) =>
		compares
			? log.compare(entries, { ...call, keepFrom: null })
			: log.append(entries, { ...call, keepFrom: null });
	return compares ? [send] : [send, (_, call) => log.read(call)];
}

/** Returns how many calls the store has of a mirrored log. */
async function count(store, calls) {
	const found = callsOf(await store.entries());
	return calls.filter((call) => found.includes(call)).length;
}

const zeros = () => adds(3).map((entry) => add(entry.id, new Uint8Array(1536).fill(1)));

exports.rules = {
	async "calls with an aborted signal reject and add nothing"(store) {
		const log = await store.open();
		const entries = zeros();
		for (const method of methodsOf(log, store.compares))
			await assert.rejects(method(entries, options({ signal: AbortSignal.abort() })));
		if (!store.compares) assert.deepEqual(await store.entries(), []);
	},

	async "calls without parameters reject, and do not throw"(store) {
		const log = await store.open();
		for (const method of store.compares ? ["compare"] : ["append", "read"]) {
			const sent = log[method]();
			await assert.rejects(() => sent);
		}
	},

	async "calls settle when they are aborted, and can be repeated"(store) {
		const log = await store.open();
		for (let turn = 0; turn < 20; turn++) {
			const entries = zeros();
			const [send] = methodsOf(log, store.compares);
			const controller = new AbortController();
			const { signal } = controller;
			const sent = send(entries, options({ signal }));
			if (turn % 2) await new Promise(setImmediate);
			controller.abort();
			await sent.catch(() => {});
			if (store.compares) {
				await send(entries, options());
				continue;
			}
			// All or nothing; what the store does after the answer is over when a repetition is.
			assert.ok([0, 3].includes(await count(store, callsOf(entries))));
			await send(entries, options());
			assert.equal(await count(store, callsOf(entries)), 3);
		}
		if (!store.compares) assert.equal((await store.entries()).length, 60);
	},

	async "calls leave no listener on their signal"(store) {
		const log = await store.open();
		const { signal } = new AbortController();
		for (const method of methodsOf(log, store.compares)) await method(zeros(), options({ signal }));
		assert.equal(getEventListeners(signal, "abort").length, 0);
	},

	async "close lets calls settle, and can be called again"(store) {
		const log = await store.open();
		const sent = methodsOf(log, store.compares).map((method) => method(zeros(), options()));
		const settled = Promise.allSettled(sent);
		await Promise.all([log.close(), log.close()]);
		await settled;
		await log.close();
	},

	async "close makes later calls reject"(store) {
		const [log, other] = [await store.open(), await store.open()];
		await log.close();
		for (const method of methodsOf(log, store.compares))
			await assert.rejects(method(zeros(), options()));
		// Another handle stays as it is.
		for (const method of methodsOf(other, store.compares)) await method(zeros(), options());
	},
};
