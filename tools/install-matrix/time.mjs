/**
 * Times `npm install` of this package and of transformers.js from the local registry, in turn, with npm's
 * cache filled and empty: node tools/install-matrix/time.mjs. Downloads 390 MB.
 * Lifecycle scripts are off for both, which favours transformers.js, whose ONNX Runtime would download
 * more. The times are printed, not checked.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { median } from "../../benchmark/statistics.mjs";
import { must } from "../lib/process.mjs";
import { npm } from "./tools.mjs";
import { PACKAGE, Workspace } from "./workspace.mjs";

const ROUNDS = 5;
const TYPESCRIPT = "@huggingface/transformers@3.8.1";

function timer(workspace) {
	const cache = join(workspace.folder, "time-cache");
	const env = workspace.environment("time", { npm_config_cache: cache });
	/** Seconds for an install into a new project. */
	const install = async (spec) => {
		const cwd = workspace.emptyProject("time");
		try {
			const command = [...npm, "install", spec];
			return (await must(command, { cwd, env, seconds: 600 })).seconds;
		} finally {
			rmSync(cwd, { recursive: true });
		}
	};
	const emptyCache = () => {
		rmSync(cache, { recursive: true, force: true });
		mkdirSync(cache);
	};
	return { install, emptyCache };
}

/** The medians, a line for each state of npm's cache. */
async function timeInstalls(workspace, say) {
	const { install, emptyCache } = timer(workspace);
	const ours = `${PACKAGE}@${workspace.version}`;
	say("time: first installs, so that the registry has everything");
	for (const spec of [ours, TYPESCRIPT]) await install(spec);
	const lines = [];
	for (const [name, prepare] of [
		["npm's cache filled", () => {}],
		["npm's cache empty", emptyCache],
	]) {
		const times = { [ours]: [], [TYPESCRIPT]: [] };
		for (let round = 0; round < ROUNDS; round++) {
			const specs = [ours, TYPESCRIPT];
			if (round % 2) specs.reverse();
			for (const spec of specs) {
				prepare();
				const seconds = await install(spec);
				times[spec].push(seconds);
				say(`time: ${name}, ${spec}: ${seconds.toFixed(2)} s`);
			}
		}
		const [one, other] = [ours, TYPESCRIPT].map((spec) => median(times[spec]));
		lines.push(
			`npm install, ${name}, medians of ${ROUNDS}: ${one.toFixed(2)} s, ${TYPESCRIPT} ${other.toFixed(2)} s (without its scripts), ratio ${(one / other).toFixed(2)}`,
		);
	}
	return lines;
}

const workspace = await Workspace.open();
process.once("exit", () => workspace.close());
await workspace.publish(console.log);
for (const line of await timeInstalls(workspace, console.log)) console.log(line);
process.exit();
