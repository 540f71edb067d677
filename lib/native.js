/** The addon, whose failures become errors of this package. Loading it may fail. */
const { load } = require("./binding.js");
const { InvalidTraceError, ScoringError } = require("./errors.js");

const native = load();

/** Turns a failure of the addon into an error, and leaves everything else as it is. */
function toError(thrown) {
	if (!native.Failure.is(thrown)) return thrown;
	const { code, message, path } = thrown;
	const type = code === "INVALID_TRACE" ? InvalidTraceError : ScoringError;
	return new type(message, { code, path: path ?? undefined });
}

function fail(thrown) {
	throw toError(thrown);
}

function attempt(run) {
	try {
		return run();
	} catch (thrown) {
		return fail(thrown);
	}
}

module.exports = { attempt, fail, native, toError };
