import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { compileModules, examplesIn } from "../../../../__test__/support/typescript.mjs";

const USES = `
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
const { env } = process;
new PostgresStore({
	pool: undefined,
	connectionString: env.DATABASE_URL,
	namespace: env.NAMESPACE,
	durable: undefined,
	migrate: undefined,
}).migrate({ signal: undefined });
new SqliteStore({ path: "novelty.db", namespace: env.NAMESPACE, durable: undefined });
// @ts-expect-error: an unknown option
new SqliteStore({ path: "novelty.db", migrate: true });
`;

test("options of the stores may be undefined, and the examples compile in strict mode", (t) => {
	const examples = ["postgres", "sqlite", "conformance"].flatMap((name) =>
		examplesIn(readFileSync(new URL(`../../${name}/index.d.ts`, import.meta.url), "utf8")),
	);
	assert.ok(examples.length > 3);
	const options = { exactOptionalPropertyTypes: true, types: ["node"], skipLibCheck: true };
	assert.equal(compileModules(t, [USES, ...examples], options), "");
});
