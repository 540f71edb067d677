import { test } from "node:test";
import { modelFolder, referenceTokenizer } from "../support/own-models.mjs";
import { repeats } from "../support/repeats.mjs";
import { assertTokens } from "../support/tokens.mjs";

const TEXTS = repeats(200);

for (const name of ["bert", "cased", "mpnet", "xlm-roberta", "roberta", "long"])
	test(`tokens of ${name} for ${TEXTS} generated texts are those of transformers.js`, async () => {
		const folder = modelFolder(name);
		assertTokens(TEXTS, await referenceTokenizer(folder), folder);
	});
