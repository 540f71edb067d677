/**
 * Compares similarities and times of `longText: "whole"` and `"window"` on the recorded runs: node
 * benchmark/long-text.mjs [--precision fast]
 *
 * Two runs that share a half are made of three recorded ones: its objective and the first half of the
 * steps of one, the second half of the steps of another, or the reverse.
 */
import { parseArgs } from "node:util";
import { read, recorded } from "../__test__/support/trace-files.mjs";
import { Scorer } from "../lib/entries/index.mjs";
import { median } from "./statistics.mjs";

const { precision } = parseArgs({
	options: { precision: { type: "string", default: "exact" } },
}).values;

/** Pairs of each kind; a run has up to thirty windows. */
const PAIRS = 12;

const halves = ({ steps }) => {
	const middle = Math.ceil(steps.length / 2);
	return [steps.slice(0, middle), steps.slice(middle)];
};

/** A run that begins like one and ends like the other. */
function joined(first, second) {
	const steps = [...halves(first)[0], ...halves(second)[1]];
	return { ...first, id: `${first.id}, ${second.id}`, steps };
}

const kinds = {
	"same beginning, other end": (a, b) => [a, joined(a, b)],
	"other beginning, same end": (a, b) => [a, joined(b, a)],
	"two different runs": (a, b) => [a, b],
};

async function similarity(longText, [one, other]) {
	const scorer = new Scorer({ longText, precision });
	await scorer.remember(one);
	return (await scorer.explainValue(other)).novelty.maxSimilarity;
}

for (const file of recorded) {
	const { traces } = read(file);
	const whole = new Scorer({ longText: "whole", precision });
	const window = new Scorer({ precision });
	await whole.warmup();
	const tokens = [];
	const perWindow = [];
	const alone = [];
	for (const trace of traces.slice(0, 2 * PAIRS)) {
		const short = await window.explainValue(trace);
		if (!short.text.fromMemo) alone.push(short.timesMs.infer);
		const { text, timesMs } = await whole.explainValue({
			...trace,
			// Other windows than the first, which is now in the memo.
			task: { objective: `once more ${trace.task.objective}` },
		});
		tokens.push(text.tokens);
		if (text.windows > 1) perWindow.push(timesMs.infer / text.windows);
	}
	const cut = tokens.filter((count) => count > 512).length;
	console.log(
		`${file}: ${cut} of ${tokens.length} runs have more than 512 tokens, the median ${median(tokens)}; ` +
			`${median(perWindow).toFixed(1)} ms a window, ${median(alone).toFixed(1)} ms for the first window alone`,
	);
	for (const [kind, make] of Object.entries(kinds)) {
		const found = { window: [], whole: [] };
		for (let i = 0; i < Math.min(PAIRS, traces.length - 1); i++) {
			const pair = make(traces[i], traces[i + 1]);
			for (const longText of Object.keys(found))
				found[longText].push(await similarity(longText, pair));
		}
		const [seen, all] = Object.values(found).map((all) => median(all).toFixed(4));
		console.log(`  ${kind}: similarity ${seen} by the window, ${all} by all`);
	}
}
