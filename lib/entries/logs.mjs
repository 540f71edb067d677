import api from "../api.js";

export const { ImportError, LOG_FORMATS, evaluateLogs, fromMessages, importTraces, toMessages } =
	api().logs;
