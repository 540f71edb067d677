import type { NoveltyStore } from "@knowledgepulse/scoring";

/** A check, to be registered with any test runner. */
export interface Check {
	/** Begins with the method that it checks. */
	name: string;
	/** Rejects with an `AssertionError` of `node:assert` if the store breaks the rule. */
	run(): Promise<void>;
}

/** Options of {@link conformance}. */
export interface ConformanceOptions {
	/**
	 * Makes every entry of a namespace `ms` milliseconds older, as if its clock had been set forward.
	 * Without it, the deletion of old entries is not checked, because that would take a minute.
	 */
	age?: (namespace: string, ms: number) => void | Promise<void>;
}

/**
 * Returns the checks that a store must pass. Each uses namespaces of its own, with random names, and
 * leaves them in the store.
 * @param open Returns a new handle on a namespace of the same store, with its own connection, so
 * that two handles behave like two processes. The check closes it.
 * @example
 * ```ts
 * import test from "node:test";
 * import { conformance } from "@knowledgepulse/scoring-stores/conformance";
 * import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
 *
 * const open = ({ namespace }: { namespace: string }) =>
 *   new SqliteStore({ path: "novelty.db", namespace });
 * for (const { name, run } of conformance(open)) test(name, run);
 * ```
 */
export function conformance(
	open: (options: { namespace: string }) => NoveltyStore | Promise<NoveltyStore>,
	options?: ConformanceOptions,
): Check[];
