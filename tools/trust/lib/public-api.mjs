/** The tests of the public API with another addon, in a copy of the checkout. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../lib/run.mjs";
import { copyCheckout } from "./copies.mjs";

/**
 * Runs the test files whose path `leaveOut` does not match, at most `most` of them, with `library` as
 * the addon; the copy is `target/<name>`. Returns how many tests passed. Tests that limit time,
 * memory or files may fail with an instrumented addon: they are logged, and `npm test` decides
 * whether they pass.
 */
export function testPublicApi({ name, library, leaveOut, most, env, log }) {
	const cwd = copyCheckout(name, library);
	const files = readdirSync(join(cwd, "__test__"), { recursive: true })
		.filter((file) => file.endsWith(".test.mjs") && !leaveOut.test(file))
		.sort()
		.slice(0, most);
	const { output } = attempt(
		process.execPath,
		[
			...["--test", "--test-concurrency=1", "--test-reporter=tap"],
			...files.map((file) => join("__test__", file)),
		],
		{ cwd, env: { ...process.env, ...env } },
	);
	for (const [, test] of output.matchAll(/^ *not ok \d+ - (.*)$/gm))
		log(`fails with this addon: ${test}`);
	const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
	if (passed === 0) throw new Error(`no test has passed\n${output}`);
	return passed;
}
