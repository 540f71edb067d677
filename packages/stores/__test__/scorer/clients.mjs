/** Processes whose scorers share a store. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const CLIENT = fileURLToPath(new URL("client.mjs", import.meta.url));

/** Starts a process that scores, and collects its answers. */
export function startClient(parameters) {
	const child = fork(CLIENT, [JSON.stringify(parameters)], {
		execArgv: ["--disable-warning=KNOWLEDGEPULSE_NO_STORE"],
	});
	const ended = once(child, "close");
	const answers = [];
	child.on("message", (answer) => answers.push(answer));
	return {
		answers,
		child,
		/** Resolves with the first answer. */
		ready: Promise.race([once(child, "message"), ended]),
		async kill() {
			child.kill("SIGKILL");
			assert.deepEqual(await ended, [null, "SIGKILL"]);
		},
		/** Lets its calls settle. */
		async stop() {
			child.send("stop");
			assert.deepEqual(await ended, [0, null]);
			// The last message only says that there are no more.
			answers.pop();
		},
	};
}
