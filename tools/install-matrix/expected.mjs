/** The recorded scores of fixtures/traces.json; record.mjs says where they are from. */
import { readFileSync } from "node:fs";

export const expected = JSON.parse(
	readFileSync(new URL("fixtures/expected.json", import.meta.url), "utf8"),
);
