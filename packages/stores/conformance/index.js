/** The rules of a store, as checks that any test runner can run. */
const append = require("./append.js");
const { Fixture } = require("./fixture.js");
const handles = require("./handles.js");
const read = require("./read.js");
const removal = require("./removal.js");

exports.conformance = function conformance(open, { age } = {}) {
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
			const fixture = new Fixture(open, age);
			try {
				const [one, other] = [await fixture.reader(), await fixture.reader()];
				const roles = { reader: one, writer: one, behind: other, store: one.store };
				await rule({ fixture, one, other, ...roles });
			} finally {
				await fixture.close();
			}
		},
	}));
};
