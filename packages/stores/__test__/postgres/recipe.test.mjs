import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { trace } from "../../../../__test__/support/traces.mjs";
import { missing, startForStores } from "../support/postgres.mjs";

const RECIPE = new URL("../../../../examples/recipes/pgvector.mjs", import.meta.url);

const { server } = await startForStores({ after });

test("pgvector.mjs gives the scores of one scorer", { skip: missing }, async () => {
	const tables = [...(await readFile(RECIPE, "utf8")).matchAll(/^ \* {5}(CREATE .*;)$/gm)];
	assert.equal(tables.length, 2);
	for (const [, sql] of tables) await server.query(sql);
	process.env.DATABASE_URL = `postgres://postgres@/postgres?host=${encodeURIComponent(server.folder)}`;
	const { score, close } = await import(RECIPE);
	const alone = new Scorer();
	for (const objective of ["A red boat", "A blue boat", "Taxes", "A red boat"]) {
		const scored = { ...trace({ objective }), id: objective };
		const difference = (await score(scored)) - (await alone.evaluateValue(scored));
		assert.ok(Math.abs(difference) < 1e-6, `${objective}: ${difference}`);
	}
	await close();
});
