// Not by way of index.js: Node.js 20 reports an error of a CommonJS module that an ES module imports
// once more where it has been caught already.
import scoring from "./scoring.js";

export const {
	VectorCache,
	_getLocalCache,
	configure,
	evaluateValue,
	explainValue,
	status,
	warmup,
} = scoring();
