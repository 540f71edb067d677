import { random as mulberry32 } from "../__test__/support/traces.mjs";

/** Each is one token of the model, so the number of words sets the number of tokens. */
const WORDS =
	"account agent airport analysis answer balance battery behavior branch bridge budget cache campaign carbon chapter " +
	"client climate cloud coffee commit company compiler contract copper corner critical customer cycle damage data " +
	"database deadline decision delivery design detail device district doctor document driver economy editor energy " +
	"engine error evening evidence failure farmer feature flight forest formula garden glass grammar hardware harvest " +
	"history hospital index insurance ladder island journal kernel kitchen language camera lawyer ledger library " +
	"machine margin market memory method mirror module monitor mountain museum network number object office option " +
	"orbit order packet palace patient payment pepper planet policy pressure price process profit protocol quality " +
	"quarter query railway random receipt record radar region report request reserve result revenue review river " +
	"rocket sample scanner schedule school screen sensor server session signal silver socket source station storage " +
	"street student summary supply survey symbol system table ticket timber token tower traffic train transfer tunnel " +
	"update valley vector vendor version village violin warning weather wheel window winter worker writer";

/** Numbers in a vector. */
export const DIMENSIONS = 384;

const VOCABULARY = WORDS.split(" ");
const STEP_TYPES = ["thought", "tool_call", "observation", "tool_call"];
const TOOLS = ["search", "read_file", "run_tests", "database_query", "calculator"];
const DOMAINS = ["code", "finance", "medical", "customer_service", "research"];

/**
 * A trace of the given size; another seed gives other texts and scores.
 *
 * The same seed gives the same trace in every process, so that both sides score the same.
 */
export function generateTrace(seed, size) {
	const random = generator(seed);
	const text = (words) => Array.from({ length: words }, () => pick(random, VOCABULARY)).join(" ");
	const types = Array.from({ length: size.steps }, (_, index) =>
		index % 8 === 7 ? "error_recovery" : STEP_TYPES[index % 4],
	);
	const texts = types.filter((type) => type !== "tool_call").length;
	const wordsOfStep = Math.floor(size.words / (texts + 1));

	const steps = types.map((type, index) => {
		if (type !== "tool_call") {
			return { step_id: index, type, content: text(wordsOfStep) };
		}
		return { step_id: index, type, tool: { name: pick(random, TOOLS) } };
	});
	return {
		id: `generated:${size.words}-words-${seed}`,
		metadata: { task_domain: pick(random, DOMAINS), success: random() < 0.75 },
		task: { objective: text(size.words - texts * wordsOfStep) },
		steps,
		outcome: { confidence: Math.round(random() * 100) / 100 },
	};
}

/** The same trace with two words, chosen by `number`, before the objective. */
export function mark(trace, number) {
	const { length } = VOCABULARY;
	const words = [number % length, Math.floor(number / length) % length].map(
		(index) => VOCABULARY[index],
	);
	const objective = [...words, trace.task.objective].join(" ");
	return { ...trace, id: `${trace.id}, text ${number}`, task: { ...trace.task, objective } };
}

/** A trace whose text is far larger than the part that the model sees. */
export function generateLongTrace(number, content) {
	const trace = generateTrace(number, { words: 30, steps: 2 });
	const long = { type: "observation", content };
	return mark({ ...trace, steps: [...trace.steps, long] }, number);
}

/** Words of this total size in bytes, as one flat string. */
export function generateText(bytes) {
	const random = generator(bytes);
	const parts = [];
	for (let length = 0; length < bytes; ) {
		const word = pick(random, VOCABULARY);
		parts.push(word);
		length += word.length + 1;
	}
	return parts.join(" ");
}

/** Yields random unit vectors, like those of a full cache. */
export function* generateVectors(count, seed = 384) {
	const random = generator(seed);
	for (let number = 0; number < count; number++) {
		const vector = new Float32Array(DIMENSIONS).map(() => random() - 0.5);
		const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
		yield vector.map((x) => x / norm);
	}
}

function pick(random, list) {
	return list[Math.floor(random() * list.length)];
}

/** Numbers in [0, 1); similar seeds do not give similar states. */
const generator = (seed) => mulberry32(Math.imul(seed + 1, 0x9e3779b1));
