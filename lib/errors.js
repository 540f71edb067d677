/** The errors of this package, in the realm of this module. */

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
	// Fields are defined, not assigned, so that setters on prototypes do not run.
	code;

	constructor(message, /** @type {ErrorFields} */ { code, path, ...options } = {}) {
		super(message, options);
		this.code = code;
		setIfGiven(this, "path", path);
	}
}

/** An invalid trace; `path` is the field. */
class InvalidTraceError extends ScoringError {}

/** An error in a source of an import, with its line. */
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
