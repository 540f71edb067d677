/** Signals and `close`. */
const assert = require("node:assert/strict");
const { getEventListeners } = require("node:events");
const { METHODS, adds, options } = require("./fixture.js");

exports.rules = {
	async "calls with an aborted signal reject and add nothing"({ fixture, store }) {
		const signal = AbortSignal.abort();
		for (const method of METHODS) await assert.rejects(method(store, { signal }));
		await fixture.complete();
	},

	async "calls without parameters reject, and do not throw"({ store }) {
		for (const method of ["append", "read"]) await assert.rejects(store[method]());
	},

	async "calls settle when they are aborted, and can be repeated"({ fixture, store }) {
		for (let turn = 0; turn < 20; turn++) {
			const entries = adds(3);
			const controller = new AbortController();
			const { signal } = controller;
			const sent = store.append(entries, options({ signal, keepFrom: null }));
			if (turn % 2) await new Promise(setImmediate);
			controller.abort();
			await sent.catch(() => {});
			// All or nothing. A retry waits for anything that the store does after the answer.
			const found = await fixture.entries();
			assert.ok([0, 3].includes(found.length - 3 * turn));
			await fixture.run([["one", entries]]);
		}
	},

	async "calls leave no listener on their signal"({ store }) {
		const { signal } = new AbortController();
		for (const method of METHODS) await method(store, { signal });
		assert.equal(getEventListeners(signal, "abort").length, 0);
	},

	async "close lets calls settle, and can be called again"({ store }) {
		const settled = Promise.allSettled(METHODS.map((method) => method(store)));
		await Promise.all([store.close(), store.close()]);
		await settled;
		await store.close();
	},

	async "close makes later calls reject"({ fixture, store }) {
		const other = await fixture.open();
		await store.close();
		for (const method of METHODS) {
			await assert.rejects(method(store));
			// Another handle is unaffected.
			await method(other);
		}
	},
};
