/** The ways in which a model is run, and the right scores of each. */
import { valueIn } from "../lib/child.mjs";
import { TRACES } from "./probe.mjs";

export const CONFIGURATIONS = [
	{ name: "ONNX Runtime, exact", backend: "onnx", precision: "exact" },
	{ name: "native", backend: "native", precision: "exact" },
	{ name: "native, fast", backend: "native", precision: "fast" },
];

/** A configuration as the environment gives it to a process. */
export const environment = ({ backend, precision }) => ({
	KNOWLEDGEPULSE_SCORING_BACKEND: backend,
	KNOWLEDGEPULSE_SCORING_PRECISION: precision,
});

const measured = new Map();

/** The scores that `measure` gets with a configuration, measured once. */
export async function rightScores(configuration) {
	const { name } = configuration;
	if (!measured.has(name)) {
		const env = environment(configuration);
		const options = { input: TRACES, env };
		const scores = await valueIn("faults/probe.mjs", "measure", options);
		measured.set(name, scores);
	}
	return measured.get(name);
}
