/** The rules of a log, as checks that any test runner can run. */
const append = require("./append.js");
const compare = require("./compare.js");
const handles = require("./handles.js");
const read = require("./read.js");
const removal = require("./removal.js");
const { Store } = require("./store.js");

/** Returns the checks that a log must pass. */
exports.conformance = function conformance(open, options = {}) {
	const mirrored = {
		...{ ...append.rules, ...read.rules, ...removal.rules },
		...(options.age && removal.rulesOfAge),
	};
	const rules = options.compare ? compare.rules : mirrored;
	return Object.entries({ ...rules, ...handles.rules }).map(([name, rule]) => ({
		name,
		async run() {
			const store = new Store(open, options);
			try {
				await rule(store);
			} finally {
				await store.close();
			}
		},
	}));
};
