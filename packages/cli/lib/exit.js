/** The end of a command: what is closed then, and exit codes, also of errors. */
const { constants } = require("node:os");
const { setTimeout: sleep } = require("node:timers/promises");

/** As docs/cli.md describes them. */
const Exit = Object.freeze({ OK: 0, UNEXPECTED: 1, INPUT: 2, GATE: 3, UNAVAILABLE: 4 });

/** How long an interrupted command waits for what it cannot abort. */
const GRACE_MS = 1000;

/** Invalid arguments or input, with a message for the user. */
class InputError extends Error {}

/** The reason of an aborted command: the user has sent a signal, such as Ctrl-C. */
class Interrupted extends Error {
	constructor(signal) {
		super("interrupted");
		this.signal = signal;
		this.exitCode = 128 + constants.signals[signal];
	}
}

/** Codes of the engine's errors. With any other one, the input is at fault. */
const UNAVAILABLE = /^(ADDON_NOT_FOUND|NO_THREADS|(EMBEDDER|LIBRARY|STORE)_UNAVAILABLE)$/;
const UNEXPECTED = ["INTERNAL", "CLOSED"];

const READING = new Set(["access", "lstat", "open", "read", "scandir", "stat"]);

const REASONS = {
	ENOENT: "there is no such file or folder",
	EACCES: "permission denied, for it or its folder",
	EPERM: "the system does not permit it",
	EROFS: "the file system is read-only",
	ENOSPC: "the disk is full (ENOSPC)",
	EMFILE: "too many files are open; ulimit -n raises the limit",
	ELOOP: "its links lead back to themselves",
	ENOTDIR: "a part of the path is a file, not a folder",
};

const causeOf = ({ code, message }) => REASONS[code] ?? message;

const cannot = (action, path, error) =>
	new InputError(`cannot ${action} ${path}: ${causeOf(error)}`);

function exitCodeOf(error) {
	if (typeof error.exitCode === "number") return error.exitCode;
	if (error instanceof InputError) return Exit.INPUT;
	if (UNAVAILABLE.test(error.code)) return Exit.UNAVAILABLE;
	if (UNEXPECTED.includes(error.code)) return Exit.UNEXPECTED;
	if (/^(Scoring|InvalidTrace)Error$/.test(error.name) || "source" in error) return Exit.INPUT;
	return READING.has(error.syscall) ? Exit.INPUT : Exit.UNEXPECTED;
}

/** What is to be done when the command has ended, the latest first. */
const endings = [];

const atEnd = (ending) => endings.unshift(ending);

/** What comes after all these, the latest first: what tells other processes that this one has ended. */
const lasts = [];

const atLast = (last) => lasts.unshift(last);

function endLast() {
	for (const last of lasts.splice(0)) last();
}

/** Ends a command. One that was interrupted by a signal does not wait for what never ends, such as a silent server. */
async function end(signal) {
	const ended = Promise.all(endings.splice(0).map((ending) => ending()));
	if (signal === undefined) return ended.finally(endLast);
	await Promise.race([ended.catch(() => {}), sleep(GRACE_MS, undefined, { ref: false })]);
	endLast();
	const kill = () =>
		process.platform === "win32" ? process.exit() : process.kill(process.pid, signal);
	setTimeout(kill, GRACE_MS).unref();
}

module.exports = {
	Exit,
	GRACE_MS,
	InputError,
	Interrupted,
	atEnd,
	atLast,
	cannot,
	end,
	exitCodeOf,
	causeOf,
};
