/** What the options of calls have in common. */

/** An Error with `code: "INVALID_OPTION"`; what the native code throws looks the same. */
function invalidOption(path, expected, found) {
	const error = new Error(`${path}: expected ${expected}, got ${found}`);
	return Object.assign(error, { code: "INVALID_OPTION", path });
}

/** Checks that an object has no options but the known ones, and a signal that is one. */
function checkOptions(options, known) {
	for (const name of Object.keys(options))
		if (!known.includes(name))
			throw invalidOption(
				name,
				`one of the options ${known.join(", ")}`,
				"an unknown option",
			);
	const { signal } = options;
	if (signal !== undefined && !(signal instanceof AbortSignal))
		throw invalidOption("signal", "an AbortSignal", String(signal));
}

module.exports = { checkOptions, invalidOption };
