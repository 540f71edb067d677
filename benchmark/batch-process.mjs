/** A process that scores batches when asked to, until its parent is gone: node batch-process.mjs SIDE. */

import { AGAIN_CASE, FULL_CACHE_CASE, sourceOf, take } from "./cases.mjs";
import { generateVectors } from "./generate.mjs";
import { scoreAgain, scoreMany } from "./score-many.mjs";
import { assertModel, loadScorer } from "./sides.mjs";

const CACHE_CAPACITY = 1000;

async function main() {
	const scorer = await loadScorer(process.argv[2]);
	let source = sourceOf(AGAIN_CASE);
	const again = source;

	async function prepare({ name, warmUp }) {
		source = sourceOf(name);
		await scoreMany(scorer, take(source, 0, warmUp), warmUp);
		const cache = scorer._getLocalCache();
		cache.clear();
		if (name === FULL_CACHE_CASE) {
			for (const vector of generateVectors(CACHE_CAPACITY)) cache.add(vector);
		}
		return true;
	}

	async function answer(request) {
		if (request.op === "case") return prepare(request);
		const { op, first, count } = request;
		if (op === "again") return scoreAgain(scorer, again(first), count);
		return scoreMany(scorer, take(source, first, count), request.inFlight);
	}

	process.on("message", async (request) => {
		const done = await answer(request);
		assertModel(scorer);
		// The parent may have been interrupted in the meantime.
		if (process.connected) process.send?.(done);
	});
}

void main();
