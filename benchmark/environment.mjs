import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { ROOT, TRANSFORMERS_4 } from "./paths.mjs";

const PACKAGES = ["@huggingface/transformers", "usearch"];

/** Describes this machine; the version of our ONNX Runtime is known to who has loaded it. */
export function describeEnvironment(sides) {
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
		registers: registers(),
		cores: os.availableParallelism(),
		memoryGB: Math.round(os.totalmem() / 1e8) / 10,
		load: os.loadavg()[0] ?? 0,
		system: `${os.type()} ${os.release()} ${os.arch()}`,
		node: process.version,
		onnxRuntime,
		packages,
	};
}

/** What the processor multiplies bytes with, on which the time of `fast` depends; "unknown" but on Linux x64. */
function registers() {
	let flags;
	try {
		[, flags] = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"));
	} catch {
		return "unknown";
	}
	const has = (flag) => flags.includes(` ${flag}`);
	if (has("avx512_vnni"))
		return has("amx_int8") ? "AVX-512 with VNNI, and AMX" : "AVX-512 with VNNI";
	if (has("avx_vnni")) return "AVX-VNNI";
	return has("avx2") ? "AVX2" : "none of AVX2 or later";
}

/** The version that the transformers.js of a folder loads, wherever that was installed. */
function runtimeOf(folder) {
	const name = "@huggingface/transformers";
	const transformers = createRequire(path.join(folder, "package.json")).resolve(name);
	return createRequire(transformers)("onnxruntime-node/package.json").version;
}

/** The installed version; not every package lets its package.json be required. */
function versionOf(name, folder = ROOT) {
	const file = path.join(folder, "node_modules", name, "package.json");
	return JSON.parse(readFileSync(file, "utf8")).version;
}
