/** The steps of which a platform package is made, whichever command asks for them. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { capture, fail, root, run } from "./run.mjs";

/** The platform package of this machine. */
export function platformName() {
	const { platform, arch } = process;
	if (platform === "linux") {
		const { glibcVersionRuntime } = process.report.getReport().header;
		return `linux-${arch}-${glibcVersionRuntime ? "gnu" : "musl"}`;
	}
	return platform === "win32" ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

/** The command that starts Python 3 here. */
export function python() {
	const command = process.platform === "win32" ? "python" : "python3";
	if (!capture(command, ["--version"])?.includes("Python 3"))
		fail(
			`${command} is missing: install Python 3.11 or later (it builds the embedding model)`,
		);
	return command;
}

/** Runs a `cargo` command that builds the addon; gives the path of the library. */
export function cargo(args, env = process.env) {
	const messages = run(
		"cargo",
		[...args, "--message-format=json-render-diagnostics"],
		{ stdio: ["inherit", "pipe", "inherit"], maxBuffer: 1 << 28, env },
	);
	const built = messages
		.split("\n")
		.filter((line) => line.includes('"compiler-artifact"'))
		.map((line) => JSON.parse(line))
		.find((artifact) => artifact.target.kind.includes("cdylib"));
	const library = built?.filenames.find((name) =>
		/\.(so|dylib|dll)$/.test(name),
	);
	if (!library) fail("cargo built no addon");
	return library;
}

/** Fills a platform package with model and ONNX Runtime; `more` are other wishes of assets.py. */
export function prepareAssets(platform, more = []) {
	const source = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	run(python(), [
		...["scripts/assets.py", "--platform", platform],
		...["--out", `npm/${platform}`],
		...(source ? ["--model-source", source] : []),
		...more,
	]);
}

/** Every package carries the licence and the notices for what it contains. */
export async function copyNotices(platform) {
	for (const file of ["LICENSE", "THIRD-PARTY-NOTICES.md"])
		await copyFile(join(root, file), join(root, "npm", platform, file));
}
