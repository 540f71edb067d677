/** Exit codes, and which error leads to which. */

const Exit = Object.freeze({
	OK: 0,
	/** A bug, or a disk that is full. */
	UNEXPECTED: 1,
	/** Wrong arguments, or input that cannot be used. */
	INPUT: 2,
	/** What was asked for with an option such as `--min-share` does not hold. */
	GATE: 3,
	/** The model, its library, the addon or the store cannot be used. */
	UNAVAILABLE: 4,
	/** Plus the number of the signal: 130 after Ctrl-C. */
	SIGNAL: 128,
});

/** What is wrong with the arguments or the input, as the user should read it. */
class InputError extends Error {}

const UNAVAILABLE = new Set([
	"ADDON_NOT_FOUND",
	"EMBEDDER_UNAVAILABLE",
	"NO_THREADS",
	"STORE_UNAVAILABLE",
]);

/** Codes of the engine that are no fault of the input. */
const UNEXPECTED = new Set(["INTERNAL", "CLOSED"]);

/** System calls that read; all others write. */
const READING = new Set(["access", "lstat", "open", "read", "scandir", "stat"]);

/** Why a system call has failed, without the path, which the message has already. */
function reasonOf({ code, message }) {
	if (code === "ENOENT") return "there is no such file or folder";
	return code === "EACCES" ? "permission denied" : message;
}

function exitCodeOf(error) {
	if (error instanceof InputError) return Exit.INPUT;
	if (UNAVAILABLE.has(error.code)) return Exit.UNAVAILABLE;
	if (UNEXPECTED.has(error.code)) return Exit.UNEXPECTED;
	if (error.name === "ScoringError" || "source" in error) return Exit.INPUT;
	if (error.code === "INVALID_TRACE") return Exit.INPUT;
	return READING.has(error.syscall) ? Exit.INPUT : Exit.UNEXPECTED;
}

module.exports = { Exit, InputError, exitCodeOf, reasonOf };
