/** The errors of this package, in the realm of this module. types/errors.d.ts documents them. */

/** @typedef {{ code?: string, path?: string, cause?: unknown, source?: string, line?: number }} ErrorFields */

function define(object, name, value, { enumerable }) {
	const descriptor = { value, enumerable, writable: true, configurable: true };
	Object.defineProperty(object, name, Object.setPrototypeOf(descriptor, null));
}

class ScoringError extends Error {
	// Fields are defined, not assigned, so that setters on prototypes do not run.
	code;

	constructor(message, /** @type {ErrorFields} */ { code = "INTERNAL", path, ...options } = {}) {
		super(message, options);
		this.code = code;
		if (path !== undefined) define(this, "path", path, { enumerable: true });
	}
}

class InvalidTraceError extends ScoringError {}

class ImportError extends ScoringError {
	source;

	constructor(message, /** @type {ErrorFields} */ { source, line, ...options } = {}) {
		super(message, options);
		this.source = source;
		if (line !== undefined) define(this, "line", line, { enumerable: true });
	}
}

for (const type of [ScoringError, InvalidTraceError, ImportError])
	define(type.prototype, "name", type.name, { enumerable: false });

/** Returns the message of what was thrown, which may be anything. */
function reasonOf(thrown) {
	try {
		return String(thrown?.message || thrown?.code || thrown);
	} catch {
		return "an unknown error";
	}
}

module.exports = { ImportError, InvalidTraceError, ScoringError, reasonOf };
