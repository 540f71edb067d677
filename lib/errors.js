/** The errors of this package, made in the realm of the module that was called. */

/**
 * @typedef {{ code?: string, path?: string, cause?: unknown, source?: string, line?: number }} ErrorFields
 */

/** Defines a field that not every error has. */
function setIfGiven(error, name, value) {
	if (value === undefined) return;
	Object.defineProperty(error, name, {
		value,
		enumerable: true,
		writable: true,
		configurable: true,
	});
}

/** An error of this package; `code` tells which. */
class ScoringError extends Error {
	// Fields are defined, not assigned: a setter on a prototype has no say in it.
	code;

	constructor(message, /** @type {ErrorFields} */ { code, path, ...options } = {}) {
		super(message, options);
		this.code = code;
		setIfGiven(this, "path", path);
	}
}

/** A trace that cannot be scored; `path` is the field that does not fit. */
class InvalidTraceError extends ScoringError {}

/** What is wrong with a source of an import, and in which line. */
class ImportError extends ScoringError {
	source;

	constructor(message, /** @type {ErrorFields} */ { source, line, ...options } = {}) {
		super(message, options);
		this.source = source;
		setIfGiven(this, "line", line);
	}
}

for (const type of [ScoringError, InvalidTraceError, ImportError])
	Object.defineProperty(type.prototype, "name", {
		value: type.name,
		writable: true,
		configurable: true,
	});

module.exports = { ImportError, InvalidTraceError, ScoringError };
