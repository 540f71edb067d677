/** The suite, with ten times as much of what it generates and repeats. */
import { main } from "./lib/main.mjs";
import { outputOf } from "./lib/rust.mjs";

export const title = "Suite";

const TIMES = "10";

export function run({ log }) {
	log(`repeats: KP_TRUST=${TIMES} npm test`);
	const env = { ...process.env, KP_TRUST: TIMES };
	const output = outputOf(process.execPath, ["tools/test.mjs"], { env });
	const [, passed] = /^(\d+) passed, 0 failed/m.exec(output);
	return [
		{
			what: "what the suite generates and repeats",
			tried: `${TIMES} times as much as npm test`,
			found: `${passed} tests pass`,
		},
	];
}

await main(import.meta.url, { title, run });
