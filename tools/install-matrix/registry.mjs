/** A local registry on 127.0.0.1 with the packages of dist/; it fetches others from npm's. */
import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { must, startProgram, tail } from "../lib/process.mjs";
import { npm, tool, toolNode } from "./tools.mjs";

const START_SECONDS = 60;

function freePort() {
	return new Promise((resolve, reject) => {
		const server = createServer().on("error", reject);
		server.listen(0, "127.0.0.1", () => {
			const { port } = server.address();
			server.close(() => resolve(port));
		});
	});
}

/** The registry that npm is configured with, for packages that are not in dist/. */
async function upstream(cwd) {
	const { stdout } = await must(["npm", "config", "get", "registry"], { cwd });
	return stdout.trim();
}

function configuration(folder, url) {
	return {
		storage: join(folder, "storage"),
		uplinks: { upstream: { url, maxage: "60m", timeout: "60s" } },
		packages: {
			// No uplink: the package must come from dist/ alone.
			"@knowledgepulse/*": { access: "$all", publish: "$all" },
			"**": { access: "$all", proxy: "upstream" },
		},
		web: { enable: false },
		max_body_size: "500mb",
		log: { type: "stdout", format: "pretty", level: "warn" },
	};
}

async function answers(url, stopped) {
	const end = performance.now() + START_SECONDS * 1000;
	while (performance.now() < end && !stopped()) {
		try {
			if ((await fetch(`${url}-/ping`)).ok) return true;
		} catch {
			// Not listening yet.
		}
		await sleep(200);
	}
	return false;
}

/** Starts the registry in `folder`. `stop()` ends it. */
export async function startRegistry(folder) {
	const config = join(folder, "config.yaml");
	// JSON is YAML.
	writeFileSync(config, JSON.stringify(configuration(folder, await upstream(folder))));
	const port = await freePort();
	const url = `http://127.0.0.1:${port}/`;
	const verdaccio = [toolNode, tool("verdaccio/bin/verdaccio")];
	const { child, output, stop } = startProgram(
		[...verdaccio, "--config", config, "--listen", `127.0.0.1:${port}`],
		{ cwd: folder },
	);
	if (!(await answers(url, () => child.exitCode !== null))) {
		stop();
		throw new Error(`the registry did not start:\n${tail(output.stdout + output.stderr)}`);
	}
	return { url, port, stop };
}

/** The packages in `dist`: main package first, then those of the platforms. */
export function tarballs(dist) {
	return readdirSync(dist)
		.filter((name) => /^knowledgepulse-scoring-.*\.tgz$/.test(name))
		.sort()
		.map((name) => join(dist, name));
}

/** The manifest of a package. */
export async function manifestOf(tarball) {
	const { stdout } = await must(["tar", "-xzOf", tarball, "package/package.json"]);
	return JSON.parse(stdout);
}

/** Publishes a tarball or a folder. */
export function publish(what, { url, env, cwd }) {
	const options = ["--registry", url, "--ignore-scripts", "--tag", "latest"];
	return must([...npm, "publish", what, ...options], { env, cwd, seconds: 120 });
}
