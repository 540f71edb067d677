import scoring from "./index.js";

export const {
	VectorCache,
	_getLocalCache,
	configure,
	evaluateValue,
	explainValue,
	status,
	warmup,
} = scoring;
