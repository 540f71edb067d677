/**
 * Keeps the memory across restarts, so that novelty also compares with traces of earlier processes:
 *
 *     node keep-memory.ts novelty.kpcache runs.jsonl
 */
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";

const [file = "novelty.kpcache", runs = "runs.jsonl"] = process.argv.slice(2);

// Empty if there is no such file.
const scorer = await Scorer.open(file);
process.once("SIGTERM", async () => {
	await scorer.save(file);
	process.exit();
});

for await (const { trace } of importTraces(runs, { assumeSuccess: true })) {
	const { novelty } = await scorer.explainValue(trace);
	console.log(novelty.source, novelty.nearest);
}
// Replaces the file in one step. In a service, also every few minutes.
await scorer.save(file);
