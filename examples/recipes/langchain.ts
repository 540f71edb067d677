/**
 * Scores runs of LangChain and LangGraph as they end:
 *
 *     const tracer = new ScoringTracer((run, score) => console.log(run.id, score));
 *     await agent.invoke({ messages }, { callbacks: [tracer] });
 */
import { evaluateValue } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { BaseTracer, type Run } from "@langchain/core/tracers/base";

export class ScoringTracer extends BaseTracer {
	override name = "scoring";
	#record: (run: Run, score: number) => void;

	/** `record` is called with each run and its score. */
	constructor(record: (run: Run, score: number) => void) {
		super();
		this.#record = record;
	}

	/** Called with each root run, which contains its child runs. */
	protected override async persistRun(run: Run): Promise<void> {
		const source = { name: run.name, data: run };
		for await (const { trace } of importTraces(source, {
			format: "langsmith",
			assumeSuccess: true,
		}))
			this.#record(run, await evaluateValue(trace));
	}
}
