import type { ImportSource, importTraces } from "./logs.js";

/**
 * The values of {@link ScoringError.code}. An {@link ImportError} is about a source of
 * {@link importTraces}.
 */
export type ScoringErrorCode =
	| ImportErrorCode
	/** A vector has a wrong length, or a number that is not finite as float32. */
	| "INVALID_VECTOR"
	/** A snapshot is damaged, too large or no regular file, or was made with another model or `novelty`. */
	| "INVALID_SNAPSHOT"
	/** A snapshot cannot be written or read. */
	| "SNAPSHOT_IO"
	/** The embedder is needed, but is off or cannot be used. */
	| "EMBEDDER_UNAVAILABLE"
	/** The embedder is needed, and needs ONNX Runtime, which is missing, too old or cannot be loaded. */
	| "LIBRARY_UNAVAILABLE"
	/** The store is needed, but cannot be reached or takes too long. */
	| "STORE_UNAVAILABLE"
	/** The store has another model, other bounds or another schema. */
	| "STORE_MISMATCH"
	/** The store returned an invalid page. */
	| "INVALID_STORE"
	/** The scorer, or the worker it belongs to, was closed. */
	| "CLOSED"
	/** A row given to {@link calibrate} has a wrong field. */
	| "INVALID_ROW"
	/** There are no rows to calibrate with, or none after the cold start. */
	| "NO_ROWS"
	/** The options of {@link calibrate} need labels, and the rows have none. */
	| "NO_LABELS"
	/** The system cannot create a thread, for example because of a limit. */
	| "NO_THREADS"
	/** Thrown on import by a package beside this one, such as the stores, if its version is another one. */
	| "VERSION_MISMATCH"
	/** Thrown on import if the addon is missing or cannot be loaded. */
	| "ADDON_NOT_FOUND"
	/** A bug in this package. */
	| "INTERNAL";

type ImportErrorCode =
	/** A field of a trace has a wrong type or value; without a source an {@link InvalidTraceError}. */
	| "INVALID_TRACE"
	/** An argument, option or environment variable is unknown or has a wrong value. */
	| "INVALID_OPTION"
	/** A line or a document is not JSON. */
	| "INVALID_JSON"
	| "INVALID_UTF8"
	/** The source has no known format. */
	| "UNKNOWN_FORMAT"
	/** Most records of the source, or all tool calls of a run, are unknown. */
	| "UNKNOWN_RECORDS"
	/** The log does not say whether a run succeeded, and `assumeSuccess` is not given. */
	| "SUCCESS_UNKNOWN"
	/**
	 * A line, a document, a run or its trace exceeds 256 MiB, or a trace has more than 1,048,576 values and
	 * names in its tool inputs.
	 */
	| "TOO_LARGE"
	/**
	 * Compressed data is truncated or damaged; with `errors: "collect"`, also an error of a file or stream, as
	 * `cause`.
	 */
	| "UNREADABLE"
	/** A log of a known format, or the messages given to {@link fromMessages}, contain no trace. */
	| "NO_TRACE";

/**
 * The class of all errors of this package. What getters of a trace throw, and the reasons of aborted signals,
 * are passed through.
 * @example
 * ```ts
 * import { ScoringError } from "@knowledgepulse/scoring";
 * const codeOf = (error: unknown) => error instanceof ScoringError && error.code;
 * ```
 */
export class ScoringError extends Error {
	constructor(
		message: string,
		options: { code: ScoringErrorCode; path?: string | undefined; cause?: unknown },
	);
	code: ScoringErrorCode;
	/** The field, option or file, if the error is about one. */
	path?: string;
}

/**
 * The error for an invalid trace.
 * @example
 * ```ts
 * import { InvalidTraceError } from "@knowledgepulse/scoring";
 * const isInvalid = (error: unknown) => error instanceof InvalidTraceError;
 * ```
 */
export class InvalidTraceError extends ScoringError {
	constructor(message: string, options: { code: "INVALID_TRACE"; path: string; cause?: unknown });
	code: "INVALID_TRACE";
	/** The field, such as `steps[3].tool.name`. */
	path: string;
}

/**
 * An error in a source of {@link importTraces}, with its line if known.
 * @example
 * ```ts
 * import { ImportError } from "@knowledgepulse/scoring/logs";
 * const placeOf = (error: unknown) => error instanceof ImportError && [error.source, error.line];
 * ```
 */
export class ImportError extends ScoringError {
	constructor(
		message: string,
		options: {
			code: ScoringErrorCode;
			path?: string | undefined;
			cause?: unknown;
			source: string;
			line?: number | undefined;
		},
	);
	/** The name of the source; see {@link ImportSource}. */
	source: string;
	/** The line, from 1, if the error is about one. */
	line?: number;
}
