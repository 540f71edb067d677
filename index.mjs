// Not by way of index.js: Node.js 20 reports an error of a CommonJS module that an ES module imports
// once more where it has been caught already.
import scoring from "./scoring.js";

export const {
	Scorer,
	VectorCache,
	_getLocalCache,
	clear,
	configure,
	evaluateValue,
	evaluateValues,
	explainValue,
	forget,
	peekValue,
	remember,
	status,
	warmup,
} = scoring();
