/**
 * Measures how well a model distinguishes texts in several languages: the mean cosine similarity of five
 * sentences on five topics, which should be near 0.
 *
 * node benchmark/languages.mjs [FOLDER [POOLING]]
 */
import { cosine, sentences } from "../__test__/support/own-models.mjs";
import { Scorer } from "../lib/entries/index.mjs";

const [model, pooling] = process.argv.slice(2);
const scorer = new Scorer({ embedder: "required", model, pooling });

for (const [language, texts] of Object.entries(sentences)) {
	const vectors = [];
	for (const text of texts) vectors.push(await scorer.embed(text));
	const similarities = vectors.flatMap((a, at) => vectors.slice(at + 1).map((b) => cosine(a, b)));
	const sum = similarities.reduce((total, x) => total + x, 0);
	console.log(language, (sum / similarities.length).toFixed(2));
}
