/**
 * Writes the scores of OpenTelemetry traces back to Phoenix, as annotations:
 *
 *     PHOENIX_HOST=… PHOENIX_API_KEY=… node phoenix.mjs spans.jsonl
 */
import { explainValue } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";

const { PHOENIX_HOST, PHOENIX_API_KEY } = process.env;

const data = [];
for await (const { trace, provenance } of importTraces(process.argv.slice(2), {
	assumeSuccess: true,
})) {
	const { score, profile } = await explainValue(trace);
	// The key is the id of the trace, for an agent followed by that of its span.
	const [trace_id] = provenance.key.split(":");
	const annotation = {
		trace_id,
		identifier: provenance.key,
		name: "value",
		annotator_kind: "CODE",
	};
	data.push({ ...annotation, result: { score, explanation: `weights for ${profile}` } });
}
const response = await fetch(new URL("/v1/trace_annotations?sync=true", PHOENIX_HOST), {
	method: "POST",
	headers: { authorization: `Bearer ${PHOENIX_API_KEY}`, "content-type": "application/json" },
	body: JSON.stringify({ data }),
});
if (!response.ok) throw new Error(`Phoenix: ${response.status} ${await response.text()}`);
