// Not by way of index.js: Node.js 20 reports an error of a CommonJS module that an ES module imports
// once more where it has been caught already.
import api from "./api.js";

export const {
	ImportError,
	InvalidTraceError,
	Scorer,
	ScoringError,
	VectorCache,
	_getLocalCache,
	calibrate,
	calibrationReport,
	clear,
	configure,
	embed,
	evaluateLogs,
	evaluateValue,
	evaluateValues,
	explainValue,
	explainValues,
	forget,
	fromMessages,
	importTraces,
	remember,
	scoreWith,
	status,
	warmup,
} = api();
