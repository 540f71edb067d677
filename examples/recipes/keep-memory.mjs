/** Keeps the memory across restarts, so that novelty also compares with traces of earlier processes. */
import { Scorer } from "@knowledgepulse/scoring";
import { traces } from "../traces.mjs";

const file = process.argv[2] ?? "novelty.kpcache";

// Empty if there is no such file.
const scorer = await Scorer.open(file);
process.once("SIGTERM", async () => {
	await scorer.save(file);
	process.exit();
});

for (const trace of traces.slice(0, 3)) {
	const { novelty } = await scorer.explainValue(trace);
	console.log(novelty.source, novelty.nearest);
}
// Replaces the file in one step. In a service, also every few minutes.
await scorer.save(file);
