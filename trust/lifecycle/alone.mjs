/** A worker that alone has the addon, or the stand-in, and ends as `exiting` does. */
import { writeFileSync } from "node:fs";
import { serialize } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { exiting } from "./exiting.mjs";

/** As `send` of a child, at once; then the main thread hears of it. */
function send(value) {
	writeFileSync(3, `${serialize(value).toString("base64")}\n`);
	parentPort.postMessage("ready");
}

const scoring = await import(
	workerData.addon ? "../../index.mjs" : "./stand-in.mjs"
);
await exiting(scoring, workerData, send);
