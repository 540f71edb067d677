import api from "../api.js";

export const { ImportError, evaluateLogs, fromMessages, importTraces } = api().logs;
