// Not by way of index.js: Node.js 20 reports an error of a CommonJS module that an ES module imports
// once more where it has been caught already.
import api from "../api.js";

export const {
	InvalidTraceError,
	Scorer,
	ScoringError,
	VectorCache,
	_getLocalCache,
	clear,
	configure,
	decide,
	embed,
	evaluateValue,
	evaluateValues,
	explainValue,
	explainValues,
	forget,
	remember,
	scoreWith,
	similar,
	status,
	warmup,
} = api().root;
