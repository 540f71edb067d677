export * from "../types/calibrate.js";
