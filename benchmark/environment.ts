import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { ROOT, TRANSFORMERS_4 } from "./paths.js";
import type { Side } from "./sides.js";

/** What the numbers depend on. */
export interface Environment {
	date: string;
	cpu: string;
	cores: number;
	memoryGB: number;
	/** Of the last minute, before the start: what else the machine was doing. */
	load: number;
	system: string;
	node: string;
	/** Versions by side. */
	onnxRuntime: Record<string, string>;
	/** The packages beside ours, with their versions. */
	packages: Record<string, string>;
}

const PACKAGES = ["@huggingface/transformers", "@orama/orama", "usearch"];

/** Describes this machine; the version of our ONNX Runtime is known to who has loaded it. */
export function describeEnvironment(sides: readonly Side[]): Environment {
	const onnxRuntime = { ours: "unknown", typescript: runtimeOf(ROOT) };
	const packages = Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)]));
	if (sides.includes("transformers4")) {
		const [name = ""] = PACKAGES;
		packages[`${name} of ts 4`] = versionOf(name, TRANSFORMERS_4);
		Object.assign(onnxRuntime, { "ts 4": runtimeOf(TRANSFORMERS_4) });
	}
	return {
		date: new Date().toISOString(),
		cpu: os.cpus()[0]?.model ?? "unknown",
		cores: os.availableParallelism(),
		memoryGB: Math.round(os.totalmem() / 1e8) / 10,
		load: os.loadavg()[0] ?? 0,
		system: `${os.type()} ${os.release()} ${os.arch()}`,
		node: process.version,
		onnxRuntime,
		packages,
	};
}

/** The version that the transformers.js of a folder loads, wherever that was installed. */
function runtimeOf(folder: string): string {
	const name = "@huggingface/transformers";
	const transformers = require.resolve(name, { paths: [folder] });
	return createRequire(transformers)("onnxruntime-node/package.json").version;
}

/** The installed version; not every package lets its package.json be required. */
function versionOf(name: string, folder = ROOT): string {
	const file = path.join(folder, "node_modules", name, "package.json");
	return JSON.parse(readFileSync(file, "utf8")).version;
}
