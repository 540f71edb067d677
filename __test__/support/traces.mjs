/** Traces to score. */

const WORDS = `river stone lantern copper archive signal harbour meadow engine ledger winter canvas
pepper orbit timber violin marble desert cactus rocket saddle breeze candle walnut glacier anchor
basket thunder pocket mirror needle orchard pigeon quarry ribbon shovel tunnel umbrella valley whistle
yarrow zipper bridge cotton dragon ember forest garlic hammer island jacket kettle ladder magnet
notice oyster planet quiver raisin sailor ticket uncle velvet window compile deploy refund invoice
migrate schema socket latency booking airport balance customer patient dosage symptom exchange`.split(
	/\s+/,
);

/** A valid trace; every part can be replaced. */
export function trace({
	objective = "Sort the letters",
	domain = "general",
	success = true,
	confidence = 0.8,
	steps = [{ step_id: 0, type: "observation", content: "They are sorted" }],
} = {}) {
	return {
		"@context": "https://openknowledgepulse.org/schema/v1",
		"@type": "ReasoningTrace",
		id: "kp:trace:test",
		metadata: { task_domain: domain, success },
		task: { objective },
		steps,
		outcome: { confidence },
	};
}

/** A trace whose text is `text`, after the space that follows the empty objective. */
export function says(text) {
	return trace({ objective: "", steps: [{ type: "observation", content: text }] });
}

/** A small seeded generator of numbers in [0, 1): mulberry32. */
export function random(seed) {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

/** `count` words, the same for the same seed. */
export function words(count, seed) {
	const next = random(seed);
	return Array.from({ length: count }, () => WORDS[Math.floor(next() * WORDS.length)]).join(" ");
}

/** Traces of texts that fill the window, with short ones between them. All texts differ. */
export const filling = (count, seed = 0) =>
	Array.from({ length: count }, (_, i) => says(words(i % 5 ? 450 : 5, seed + i)));

let nextText = 5000;

/** Makes calls that take about a second, so that later ones wait for their turn. Returns those that wait themselves. */
export function occupied(scorer, options) {
	const call = () => scorer.evaluateValue(says(words(500, nextText++)), options);
	const calls = Array.from({ length: 100 }, call);
	for (const call of calls) call.catch(() => {});
	return calls.slice(50);
}

/** Profiles with a domain whose score is the novelty. */
export const profiles = {
	novelty: { complexity: 0, novelty: 1, toolDiversity: 0, outcomeConfidence: 0 },
};

/** What novelty can compare. */
export const kinds = ["text", "run", "words"];

/** A trace of that domain. */
export const novel = (text, id) => ({
	...trace({ objective: text, domain: "novelty", confidence: 1, steps: [] }),
	id,
});
