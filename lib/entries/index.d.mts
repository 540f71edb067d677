export * from "../../index.js";
