/** The rules of a store, as checks that any test runner can run. */
const append = require("./append.js");
const { Fixture } = require("./fixture.js");
const handles = require("./handles.js");
const read = require("./read.js");
const removal = require("./removal.js");

exports.conformance = function conformance(open, { age } = {}) {
	/** Each gets a fixture and a store on its namespace, and may return steps. */
	const rules = {
		...append.rules,
		...read.rules,
		...removal.rules,
		...(age && removal.rulesOfAge),
		...handles.rules,
	};
	return Object.entries(rules).map(([name, rule]) => ({
		name,
		async run() {
			const handles = [];
			const fixture = new Fixture({ open, age, handles });
			try {
				const steps = await rule({ fixture, store: await fixture.open() });
				await fixture.run(steps ?? []);
			} finally {
				await Promise.all(handles.map((store) => store.close()));
			}
		},
	}));
};
