/** The ways in which a model is run, and the right scores of each. */
import { valueFrom } from "../../__test__/lib/child.mjs";
import { measure, TRACES } from "./probe.mjs";

export const CONFIGURATIONS = [
	{ name: "ONNX Runtime, exact", runtime: "onnxruntime", precision: "exact" },
	{ name: "ONNX Runtime, fast", runtime: "onnxruntime", precision: "fast" },
	{ name: "Rust", runtime: "rust", precision: "exact" },
];

/** A configuration as the environment gives it to a process. */
export const environment = ({ runtime, precision }) => ({
	KNOWLEDGEPULSE_SCORING_RUNTIME: runtime,
	KNOWLEDGEPULSE_SCORING_PRECISION: precision,
});

const measured = new Map();

/** What {@link measure} finds with a configuration, measured once. */
export async function rightScores(configuration) {
	const { name } = configuration;
	if (!measured.has(name)) {
		const env = environment(configuration);
		measured.set(name, await valueFrom(measure, { input: TRACES, env }));
	}
	return measured.get(name);
}
