/** Starts a server, prints its first answer, and ends it: node ask.mjs PATH COMMAND... */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const [path, ...command] = process.argv.slice(2);
const env = { ...process.env, PORT: "3000", HOST: "127.0.0.1", HOSTNAME: "127.0.0.1" };
const [file, ...args] = command;
const server = spawn(file, args, { env, stdio: ["ignore", 2, 2] });
server.on("exit", (code) => process.exit(code || 1));
process.on("exit", () => server.kill("SIGKILL"));
for (;;) {
	try {
		const answer = await fetch(`http://127.0.0.1:3000${path}`);
		console.log(await answer.text());
		process.exit(answer.ok ? 0 : 1);
	} catch {
		// Not listening yet.
		await sleep(100);
	}
}
