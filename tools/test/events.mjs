/** A reporter of node:test for javascript.mjs: one line of JSON for each event. */
import { inspect } from "node:util";

/** The description of a failure, without the frames of the test runner. */
function reason({ cause, message }) {
	return inspect(cause ?? message, { breakLength: 100 })
		.split("\n")
		.filter((line) => !/^\s+at .*node:internal/.test(line))
		.join("\n");
}

export default async function* events(source) {
	for await (const { type, data } of source) {
		const { name, line, skip, details, message } = data;
		const ms = details?.duration_ms;
		if (type === "test:diagnostic") yield record({ diagnostic: message });
		if (type === "test:pass" && details.type !== "suite")
			yield record({ name, ms, skipped: skip && String(skip) });
		// A test also fails if a subtest does.
		if (type === "test:fail" && details.error.failureType !== "subtestsFailed")
			yield record({ name, ms, line, failure: reason(details.error) });
	}
}

const record = (event) => `${JSON.stringify(event)}\n`;
