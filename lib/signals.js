/** Ends calls when their signal is aborted, with one listener for each signal. */

const { setImmediate } = require("node:timers");

/** The calls that each signal ends. */
const endings = new WeakMap();

function ignore() {}

/** Calls `end` when the signal, if given, is aborted, or at once if it is. Returns a function that cancels this. */
function onAbort(signal, end) {
	if (signal?.aborted) end();
	if (signal === undefined || signal.aborted) return ignore;
	let ending = endings.get(signal);
	if (ending === undefined) {
		const all = new Set();
		const listener = () => {
			for (const end of all) end();
		};
		ending = { all, listener };
		endings.set(signal, ending);
		signal.addEventListener("abort", listener, { once: true });
	}
	const { all, listener } = ending;
	all.add(end);
	return () => {
		all.delete(end);
		if (all.size > 0 || endings.get(signal) !== ending) return;
		endings.delete(signal);
		signal.removeEventListener("abort", listener);
	};
}

/** Waits for `promise`, or until the signal, if given, is aborted. */
function until(signal, promise) {
	if (signal === undefined) return promise;
	return new Promise((resolve, reject) => {
		const release = onAbort(signal, () => reject(signal.reason));
		promise.then(resolve, reject).finally(release);
	});
}

/** Waits until a source is closed; once the signal is aborted, no longer than to the next turn of the event loop. */
function untilClosed(signal, closed) {
	const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
	return until(signal, closed).catch(() => Promise.race([closed, nextTurn()]).catch(ignore));
}

module.exports = { ignore, onAbort, until, untilClosed };
