/**
 * A local registry on 127.0.0.1 with the packages of dist/; it fetches others from `upstream`. As a program that
 * startRegistry starts, by a Node.js on which Verdaccio runs: node registry.mjs STORAGE UPSTREAM
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { tool, toolNode } from "./tools.mjs";

const own = fileURLToPath(import.meta.url);

/** Starts the registry. `stop()` ends it, as does the end of this process. */
export async function startRegistry(storage, upstream) {
	const stdio = ["ignore", "ignore", "inherit", "ipc"];
	const child = fork(own, [storage, upstream], { execPath: toolNode, execArgv: [], stdio });
	const failed = once(child, "exit").then(() => Promise.reject(new Error("no registry")));
	const [port] = await Promise.race([once(child, "message"), failed]);
	return { url: `http://127.0.0.1:${port}/`, port, stop: () => child.kill() };
}

if (process.argv[1] === own) {
	const [storage, url] = process.argv.slice(2);
	const { runServer } = createRequire(own)(tool("verdaccio"));
	const server = await runServer({
		storage,
		self_path: storage,
		uplinks: { upstream: { url, maxage: "60m", timeout: "60s" } },
		packages: {
			// No uplink: the package must come from dist/ alone.
			"@knowledgepulse/*": { access: "$all", publish: "$all" },
			"**": { access: "$all", proxy: "upstream" },
		},
		web: { enable: false },
		max_body_size: "500mb",
		log: { type: "stdout", format: "pretty", level: "warn" },
	});
	server.listen(0, "127.0.0.1", () => process.send(server.address().port));
	process.on("disconnect", () => process.exit());
}
