/** Prints the scores of the example traces, in order, for examples/scores.json. */
import { traces } from "../../examples/traces.mjs";
import { evaluateValue } from "./evaluate-value.mjs";

const scores = [];
for (const trace of traces) scores.push(await evaluateValue(trace));
console.log(JSON.stringify(scores, null, "\t"));
