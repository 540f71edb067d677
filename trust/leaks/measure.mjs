/** Memory over time, and the line through it. Measured in child processes. */
import { setImmediate as turn } from "node:timers/promises";
import { LOADS } from "./loads.mjs";

/** Values of which nothing refers to any more are finalised after one or two turns. */
async function residentBytes() {
	for (let i = 0; i < 3; i++) {
		gc();
		await turn();
	}
	return process.memoryUsage.rss();
}

/** Does a load `warmUp` times, and then `count` times, with so many samples of the memory. */
export async function measure(scoring, { name, warmUp, count, samples }) {
	process.emitWarning = () => {};
	const load = LOADS[name].make(scoring);
	await load(0, warmUp);
	const points = [[0, await residentBytes()]];
	const part = Math.ceil(count / samples);
	for (let done = 0; done < count; ) {
		const next = Math.min(part, count - done);
		await load(warmUp + done, next);
		done += next;
		points.push([done, await residentBytes()]);
	}
	return points;
}

/** The line of least squares: its slope and that one's standard error. */
export function fit(points) {
	const mean = (values) =>
		values.reduce((sum, x) => sum + x, 0) / values.length;
	const [x0, y0] = [0, 1].map((i) => mean(points.map((point) => point[i])));
	const sum = (term) =>
		points.reduce((all, [x, y]) => all + term(x - x0, y - y0), 0);
	const spread = sum((x) => x * x);
	const slope = sum((x, y) => x * y) / spread;
	const rest = sum((x, y) => (y - slope * x) ** 2);
	return { slope, error: Math.sqrt(rest / (points.length - 2) / spread) };
}
