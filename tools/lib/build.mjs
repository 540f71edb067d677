/** The steps that make a platform package, shared by several commands. */
import { copyFileSync } from "node:fs";
import { basename, join } from "node:path";
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

/** The target triple of this machine. */
export const host = () => /^host: (.*)$/m.exec(capture("rustc", ["-vV"]) ?? "")?.[1];

/** The command that starts Python 3 here. */
export function python() {
	const command = process.platform === "win32" ? "python" : "python3";
	if (!capture(command, ["--version"])?.includes("Python 3"))
		fail(`${command} is missing: install Python 3.11 or later (it builds the embedding model)`);
	return command;
}

/** Runs a `cargo` command that builds the addon; returns the path of the library. */
export function cargo(args, env = process.env) {
	const messages = run(
		"cargo",
		[
			...[...args, "--package", "knowledgepulse-scoring-addon"],
			"--message-format=json-render-diagnostics",
		],
		{ stdio: ["inherit", "pipe", "inherit"], env },
	);
	const built = messages
		.split("\n")
		.filter((line) => line.includes('"compiler-artifact"'))
		.map((line) => JSON.parse(line))
		.find((artifact) => artifact.target.kind.includes("cdylib"));
	const library = built?.filenames.find((name) => /\.(so|dylib|dll)$/.test(name));
	if (!library) fail("cargo built no addon");
	return library;
}

/** Puts model and ONNX Runtime into a platform package; `more` are further options of assets.py. */
export function prepareAssets(platform, more = []) {
	const source = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	run(python(), [
		...["tools/assets.py", "--platform", platform],
		...["--out", `npm/${platform}`],
		...(source ? ["--model-source", source] : []),
		...more,
	]);
}

/** The notices for what the platform packages contain. */
export const NOTICES = join(root, "npm", "THIRD-PARTY-NOTICES.md");

/** Every platform package carries the licence and the notices. */
export function copyNotices(platform) {
	for (const file of [join(root, "LICENSE"), NOTICES])
		copyFileSync(file, join(root, "npm", platform, basename(file)));
}
