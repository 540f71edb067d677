/** The end of a command: what is closed then, and exit codes, also of errors. */

const Exit = Object.freeze({
	OK: 0,
	/** A bug, or a full disk. */
	UNEXPECTED: 1,
	/** Wrong arguments, or input that cannot be used. */
	INPUT: 2,
	/** A limit such as `--min-share` is not met. */
	GATE: 3,
	/** The model, its library, the addon or the store is unavailable. */
	UNAVAILABLE: 4,
	/** To be added to the number of a signal: 130 after Ctrl-C. */
	SIGNAL: 128,
});

/** Invalid arguments or input, with a message for the user. */
class InputError extends Error {}

/** Exit codes of the engine's errors. With any other code, the input is at fault. */
const OF_ENGINE = {
	ADDON_NOT_FOUND: Exit.UNAVAILABLE,
	EMBEDDER_UNAVAILABLE: Exit.UNAVAILABLE,
	NO_THREADS: Exit.UNAVAILABLE,
	STORE_UNAVAILABLE: Exit.UNAVAILABLE,
	INTERNAL: Exit.UNEXPECTED,
	CLOSED: Exit.UNEXPECTED,
	INVALID_TRACE: Exit.INPUT,
};

/** System calls that read; all others write. */
const READING = new Set(["access", "lstat", "open", "read", "scandir", "stat"]);

const REASONS = { ENOENT: "there is no such file or folder", EACCES: "permission denied" };

/** The error for a file that cannot be read or written. */
const cannot = (action, path, { code, message }) =>
	new InputError(`cannot ${action} ${path}: ${REASONS[code] ?? message}`);

function exitCodeOf(error) {
	if (error instanceof InputError) return Exit.INPUT;
	if (error.code in OF_ENGINE) return OF_ENGINE[error.code];
	if (error.name === "ScoringError" || "source" in error) return Exit.INPUT;
	return READING.has(error.syscall) ? Exit.INPUT : Exit.UNEXPECTED;
}

/** What is to be done when the command has ended, the latest first. */
const endings = [];

const atEnd = (ending) => endings.unshift(ending);

const end = () => Promise.all(endings.splice(0).map((ending) => ending()));

module.exports = { Exit, InputError, atEnd, cannot, end, exitCodeOf };
