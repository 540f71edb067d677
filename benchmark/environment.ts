import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { ROOT } from "./paths.js";

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
	onnxRuntime: { ours: string; typescript: string };
	/** The packages beside ours, with their versions. */
	packages: Record<string, string>;
}

const PACKAGES = ["@huggingface/transformers", "@orama/orama", "usearch"];

/** Describes this machine; the version of our ONNX Runtime is known to who has loaded it. */
export function describeEnvironment(): Environment {
	const transformers = require.resolve("@huggingface/transformers");
	// The one that transformers.js loads, wherever it was installed.
	const runtime: { version: string } = createRequire(transformers)(
		"onnxruntime-node/package.json",
	);
	return {
		date: new Date().toISOString(),
		cpu: os.cpus()[0]?.model ?? "unknown",
		cores: os.availableParallelism(),
		memoryGB: Math.round(os.totalmem() / 1e8) / 10,
		load: os.loadavg()[0] ?? 0,
		system: `${os.type()} ${os.release()} ${os.arch()}`,
		node: process.version,
		onnxRuntime: { ours: "unknown", typescript: runtime.version },
		packages: Object.fromEntries(
			PACKAGES.map((name) => [name, versionOf(name)]),
		),
	};
}

/** The installed version; not every package lets its package.json be required. */
function versionOf(name: string): string {
	const file = path.join(ROOT, "node_modules", name, "package.json");
	return JSON.parse(readFileSync(file, "utf8")).version;
}
