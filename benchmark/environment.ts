import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

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
	transformers: string;
}

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
		transformers: versionOf(path.join(path.dirname(transformers), "..")),
	};
}

function versionOf(folder: string): string {
	const text = readFileSync(path.join(folder, "package.json"), "utf8");
	return JSON.parse(text).version;
}
