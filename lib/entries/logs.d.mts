export * from "../types/logs.js";
