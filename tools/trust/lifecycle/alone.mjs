/** A worker that alone has the addon, or the stand-in, and ends as `endWith` does. */
import { writeFileSync } from "node:fs";
import { serialize } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { endWith } from "./exiting.mjs";

/** As `send` of a child process, synchronously; then tells the main thread. */
function send(value) {
	writeFileSync(3, `${serialize(value).toString("base64")}\n`);
	parentPort.postMessage("ready");
}

await endWith(workerData, send);
