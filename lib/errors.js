/** The errors of this package, in the realm of this module. types/errors.d.ts documents them. */

/** @typedef {{ code?: string, path?: string, cause?: unknown, source?: string, line?: number }} ErrorFields */

function define(object, name, value, { enumerable }) {
	Object.defineProperty(object, name, { value, enumerable, writable: true, configurable: true });
}

class ScoringError extends Error {
	// Fields are defined, not assigned, so that setters on prototypes do not run.
	code;

	constructor(message, /** @type {ErrorFields} */ { code, path, ...options } = {}) {
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

module.exports = { ImportError, InvalidTraceError, ScoringError };
