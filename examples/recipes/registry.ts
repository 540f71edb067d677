/**
 * A registry that scores what clients contribute, because a client can write any number into
 * `quality_score`. Hono runs it on Node.js, Bun and Deno:
 *
 *     bun registry.ts
 *     node -e 'import("./registry.ts").then(({ default: app }) => require("@hono/node-server").serve(app))'
 */
import { InvalidTraceError, Scorer } from "@knowledgepulse/scoring";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";

// All processes on the machine share the memory; several machines share one with PostgresStore.
const store = new SqliteStore({ path: process.env.NOVELTY_DB ?? "novelty.db" });
// An error is better than a score without novelty.
const scorer = new Scorer({ store, storeMode: "required", embedder: "required" });

const app = new Hono();

const limit = bodyLimit({
	maxSize: 2 ** 20,
	onError: (context) => context.json({ error: "expected at most 1 MiB" }, 413),
});

app.post("/v1/knowledge", limit, async (context) => {
	const trace = await context.req.json();
	// Only what is accepted is remembered, so that a refused trace can be improved and sent again.
	const { accepted, score } = await scorer.decide(trace, { threshold: 0.6, exact: true });
	if (!accepted) return context.json({ error: "not new enough", quality_score: score }, 422);
	// Here the registry keeps the trace, with this score in `metadata.quality_score`.
	return context.json({ id: trace.id, quality_score: score }, 201);
});

app.onError((error, context) => {
	// No JSON, or no trace.
	if (error instanceof SyntaxError || error instanceof InvalidTraceError)
		return context.json({ error: error.message }, 400);
	console.error(error);
	return context.json({ error: "cannot score now" }, 503);
});

export default app;
