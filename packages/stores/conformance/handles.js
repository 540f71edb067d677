/** Signals and `close`. */
const assert = require("node:assert/strict");
const { getEventListeners } = require("node:events");
const { METHODS, adds, callsOf, options } = require("./fixture.js");

/** Each gets a fixture, and two readers with handles of their own. */
exports.rules = {
	async "calls with an aborted signal reject and add nothing"({ fixture, store }) {
		for (const method of METHODS)
			await assert.rejects(method(store, options({ signal: AbortSignal.abort() })));
		assert.deepEqual(await fixture.entries(), []);
	},

	async "calls without parameters reject, and do not throw"({ store }) {
		for (const method of ["append", "read"]) {
			const sent = store[method]();
			await assert.rejects(() => sent);
		}
	},

	async "calls settle when they are aborted, and can be repeated"({ fixture, store }) {
		for (let turn = 0; turn < 20; turn++) {
			const entries = adds(3);
			const count = async () => {
				const found = callsOf(await fixture.entries());
				return callsOf(entries).filter((call) => found.includes(call)).length;
			};
			const controller = new AbortController();
			const { signal } = controller;
			const sent = store.append(entries, options({ signal, keepFrom: null }));
			if (turn % 2) await new Promise(setImmediate);
			controller.abort();
			await sent.catch(() => {});
			// All or nothing. A retry waits for anything that the store does after the answer.
			assert.ok([0, 3].includes(await count()));
			await store.append(entries, options({ keepFrom: null }));
			assert.equal(await count(), 3);
		}
		assert.equal((await fixture.entries()).length, 60);
	},

	async "calls leave no listener on their signal"({ store }) {
		const { signal } = new AbortController();
		for (const method of METHODS) await method(store, options({ signal }));
		assert.equal(getEventListeners(signal, "abort").length, 0);
	},

	async "close lets calls settle, and can be called again"({ store }) {
		const settled = Promise.allSettled(METHODS.map((method) => method(store, options())));
		await Promise.all([store.close(), store.close()]);
		await settled;
		await store.close();
	},

	async "close makes later calls reject"({ store, other }) {
		await store.close();
		for (const method of METHODS) await assert.rejects(method(store, options()));
		// Another handle is unaffected.
		for (const method of METHODS) await method(other.store, options());
	},
};
