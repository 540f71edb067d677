import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import { trace } from "../../../../__test__/support/traces.mjs";
import { missing, startForStores } from "../support/postgres.mjs";

const DOCS = new URL("../../../../docs/shared-novelty.md", import.meta.url);

/** Returns the code of a language in the recipe. */
async function recipe(language) {
	const [, section] = (await readFile(DOCS, "utf8")).split("## Functions that live for one call\n");
	return section.split(`\`\`\`${language}\n`)[1].split("```")[0];
}

/** Runs the recipe in a process of its own. Returns the score. */
async function score(scored, url) {
	const source = `
		const trace = JSON.parse(process.env.TRACE);
		${await recipe("js")}
		console.log(score);
		await client.end();`;
	const { stdout } = await promisify(execFile)(
		process.execPath,
		["--input-type=module", "-e", source],
		{
			cwd: import.meta.dirname,
			env: { ...process.env, DATABASE_URL: url, TRACE: JSON.stringify(scored) },
		},
	);
	return Number(stdout);
}

const { server } = await startForStores({ after });

test("the recipe for functions that live for one call gives the scores of one scorer", {
	skip: missing,
}, async () => {
	await server.query(await recipe("sql"));
	const url = `postgres://postgres@/postgres?host=${encodeURIComponent(server.folder)}`;
	const alone = new Scorer();
	for (const objective of ["A red boat", "A blue boat", "Taxes", "A red boat"]) {
		const scored = { ...trace({ objective }), id: objective };
		const difference = (await score(scored, url)) - (await alone.evaluateValue(scored));
		assert.ok(Math.abs(difference) < 1e-6, `${objective}: ${difference}`);
	}
});
