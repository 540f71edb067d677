/**
 * How far embeddings, and the novelty computed from them, are from those of the plain float32 export in
 * transformers.js: node benchmark/fidelity.mjs
 *
 * Measured over generated texts, in groups of equal length, and over the recorded runs, each file in order.
 */
import { textOf } from "../__test__/oracle/scorer.mjs";
import {
	cosine,
	plainFolder,
	referenceEmbedder,
	referenceTokenizer,
} from "../__test__/support/own-models.mjs";
import { read, recorded } from "../__test__/support/trace-files.mjs";
import { random } from "../__test__/support/traces.mjs";
import { Scorer } from "../lib/entries/index.mjs";
import { quantile } from "./statistics.mjs";

/** The most tokens of a text. */
const LENGTHS = [5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const TEXTS_PER_LENGTH = 24;

/** Each sentence takes one of each. */
const PARTS = [
	"the agent, a customer, our parser, the failing test, this invoice, the database index, a nurse, " +
		"the flight to Oslo, my colleague, the compiler, an auditor, the retry loop",
	"checks, cancels, rewrites, compares, explains, measures, rejects, books, repairs, confirms, ignores, searches",
	"the reservation, a null pointer, three log files, the patient's record, a refund of $214, the quarterly report, " +
		"an unhandled exception, src/main.rs, every open ticket, the risk estimate, a missing comma, seat 14C",
	"before lunch., because the cache was stale., and then stops!, without asking., in 3.5 seconds., " +
		"with another tool., so the score drops;, but not on Windows., although nobody noticed., after 12 attempts.",
].map((parts) => parts.split(", "));

const tokenizer = await referenceTokenizer(plainFolder);

/** A text of at most `length` tokens, on a few topics, as real ones are. */
function generate(length, seed) {
	const next = random(seed);
	const topics = PARTS.map((parts) => {
		const first = Math.floor(next() * parts.length);
		return [...parts, ...parts].slice(first, first + 4);
	});
	let text = "";
	for (let number = 0; ; number++) {
		const longer = `${text} ${topics[number % 4][Math.floor(next() * 4)]}`.trim();
		if (tokenizer(longer).input_ids.dims[1] > length) return text;
		text = longer;
	}
}

/** 1 - the greatest cosine with an earlier vector of the group, for each but the first. */
function novelties(vectors, group) {
	return vectors.flatMap((vector, at) => {
		const earlier = vectors.slice(at - (at % group), at);
		return earlier.length ? [1 - Math.max(...earlier.map((other) => cosine(vector, other)))] : [];
	});
}

/** The cosine of each two. */
const cosines = (vectors) =>
	vectors.flatMap((vector, at) => vectors.slice(0, at).map((other) => cosine(vector, other)));

const distances = (found, expected) => found.map((value, at) => Math.abs(value - expected[at]));

const texts = LENGTHS.flatMap((length) =>
	Array.from({ length: TEXTS_PER_LENGTH }, (_, number) => generate(length, 1000 * length + number)),
);
const sets = [
	["generated texts", texts, TEXTS_PER_LENGTH],
	...recorded.map((file) => [file, read(file).traces.map(textOf), Number.POSITIVE_INFINITY]),
];

async function embedAll(embed, texts) {
	const vectors = [];
	for (const text of texts) vectors.push(Array.from(await embed(text)));
	return vectors;
}

const reference = await referenceEmbedder(plainFolder, "mean");
for (const [name, texts, group] of sets) {
	const expected = await embedAll(reference, texts);
	for (const precision of ["exact", "fast"]) {
		const scorer = new Scorer({ precision, embedder: "required" });
		const found = await embedAll((text) => scorer.embed(text), texts);
		const errors = {
			"1 - cosine with the plain export": found.map(
				(vector, at) => 1 - cosine(vector, expected[at]),
			),
			"error of a cosine": distances(cosines(found), cosines(expected)),
			"error of a novelty": distances(novelties(found, group), novelties(expected, group)),
		};
		for (const [what, values] of Object.entries(errors)) {
			const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
			const figures = [Math.max(...values), quantile(values, 0.99), mean];
			const [max, p99, average] = figures.map((value) => value.toExponential(1));
			console.log(`${name}, ${precision}, ${what}: max ${max}, p99 ${p99}, mean ${average}`);
		}
	}
}
