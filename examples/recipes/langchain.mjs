/**
 * Scores runs of LangChain and LangGraph as they end:
 *
 *     const tracer = new ScoringTracer((run, score) => console.log(run.id, score));
 *     await agent.invoke({ messages }, { callbacks: [tracer] });
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { BaseTracer } from "@langchain/core/tracers/base";

export class ScoringTracer extends BaseTracer {
	name = "scoring";
	#record;

	/** `record` is called with each run and its score. */
	constructor(record) {
		super();
		this.#record = record;
	}

	/** Called with each root run, which contains its child runs. */
	async persistRun(run) {
		const source = { name: run.name, data: run };
		const options = { format: "langsmith", assumeSuccess: true };
		for await (const { trace } of importTraces(source, options))
			this.#record(run, await evaluateValue(trace));
	}
}
