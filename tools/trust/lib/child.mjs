/** Functions of this folder that run in processes of their own. */
import { assertQuiet, run } from "../../../__test__/support/child.mjs";

/** Runs in the process, whose working folder is `__test__`. */
async function callNamed({ scoring, input, send }) {
	const module = await import(`../tools/trust/${input.file}`);
	return module[input.name](scoring, input.input, send);
}

/**
 * Calls the function `name` of `file`, a path in this folder, in a new process: with the package,
 * `options.input` and a function that sends values back. Options and result are those of `run`.
 */
export function callIn(file, name, { input, ...options } = {}) {
	return run(callNamed, { ...options, input: { file, name, input } });
}

/** As {@link callIn}, for a function that has to succeed quietly: returns its result. */
export async function valueIn(file, name, options) {
	const ended = await callIn(file, name, options);
	assertQuiet(ended);
	return ended.value;
}

/** The backends of the embedder. */
export const BACKENDS = ["onnx", "native"];
