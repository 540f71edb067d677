/**
 * Writes the scores of traces that were exported from Langfuse back to it:
 *
 *     LANGFUSE_HOST=… LANGFUSE_PUBLIC_KEY=… LANGFUSE_SECRET_KEY=… node langfuse.ts export.json
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";

const { LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY } = process.env;
const key = Buffer.from(`${LANGFUSE_PUBLIC_KEY}:${LANGFUSE_SECRET_KEY}`).toString("base64");

for await (const { trace, provenance } of importTraces(process.argv.slice(2), {
	assumeSuccess: true,
})) {
	const value = await evaluateValue(trace);
	// With a fixed id, a score that is sent again replaces the earlier one.
	const score = {
		id: `kp-${provenance.key}`,
		traceId: provenance.key,
		name: "value",
		value,
		dataType: "NUMERIC",
	};
	const response = await fetch(new URL("/api/public/scores", LANGFUSE_HOST), {
		method: "POST",
		headers: { authorization: `Basic ${key}`, "content-type": "application/json" },
		body: JSON.stringify(score),
	});
	if (!response.ok) throw new Error(`Langfuse: ${response.status} ${await response.text()}`);
}
