/** Memory over time, and the line fitted through it. Measured in child processes. */
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { LOADS } from "./loads.mjs";

/**
 * Returns the resident memory without pages of mapped files: new words load more pages of the model, up to the
 * size of the file.
 */
function ownBytes() {
	if (process.platform !== "linux") return process.memoryUsage.rss();
	const status = readFileSync("/proc/self/status", "latin1");
	return Number(/^RssAnon:\s*(\d+) kB/m.exec(status)[1]) * 1024;
}

/** Unreachable values are finalised after one or two turns. */
async function sample() {
	for (let i = 0; i < 3; i++) {
		gc();
		await turn();
	}
	return { own: ownBytes(), resident: process.memoryUsage.rss() };
}

/** Does a load `warmUp` times, then `count` times; returns `samples` samples of the memory. */
export async function measure(scoring, { name, warmUp, count, samples }) {
	process.emitWarning = () => {};
	const load = LOADS[name].make(scoring);
	await load(0, warmUp);
	const points = [{ done: 0, ...(await sample()) }];
	const part = Math.ceil(count / samples);
	for (let done = 0; done < count; ) {
		const next = Math.min(part, count - done);
		await load(warmUp + done, next);
		done += next;
		points.push({ done, ...(await sample()) });
	}
	return points;
}

/** Fits a line through pairs of numbers; returns its slope and the standard error of the slope. */
export function fit(pairs) {
	const mean = (i) => pairs.reduce((sum, pair) => sum + pair[i], 0) / pairs.length;
	const [x0, y0] = [mean(0), mean(1)];
	const sum = (term) => pairs.reduce((all, [x, y]) => all + term(x - x0, y - y0), 0);
	const spread = sum((x) => x * x);
	const slope = sum((x, y) => x * y) / spread;
	const rest = sum((x, y) => (y - slope * x) ** 2);
	return { slope, error: Math.sqrt(rest / (pairs.length - 2) / spread) };
}
