/**
 * Writes the scores of OpenTelemetry traces back to Phoenix, as annotations:
 *
 *     PHOENIX_HOST=… PHOENIX_API_KEY=… node phoenix.ts spans.jsonl
 */
import { explainValue } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";

const { PHOENIX_HOST, PHOENIX_API_KEY } = process.env;

const data = [];
for await (const { trace, provenance } of importTraces(process.argv.slice(2), {
	assumeSuccess: true,
})) {
	const { score, profile } = await explainValue(trace);
	const identifier = provenance.key;
	// The id of the trace, for an agent followed by that of its span.
	const trace_id = identifier?.split(":")[0];
	const result = { score, explanation: `weights for ${profile}` };
	data.push({ trace_id, identifier, name: "value", annotator_kind: "CODE", result });
}
const response = await fetch(new URL("/v1/trace_annotations?sync=true", PHOENIX_HOST), {
	method: "POST",
	headers: { authorization: `Bearer ${PHOENIX_API_KEY}`, "content-type": "application/json" },
	body: JSON.stringify({ data }),
});
if (!response.ok) throw new Error(`Phoenix: ${response.status} ${await response.text()}`);
