/** The packages: the main one, the platform packages in npm/, the workspaces in packages/. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root } from "../lib/run.mjs";

/** The target triple of each platform. */
export const PLATFORMS = {
	"linux-x64-gnu": "x86_64-unknown-linux-gnu",
	"linux-arm64-gnu": "aarch64-unknown-linux-gnu",
	"linux-x64-musl": "x86_64-unknown-linux-musl",
	"linux-arm64-musl": "aarch64-unknown-linux-musl",
	"darwin-arm64": "aarch64-apple-darwin",
	"darwin-x64": "x86_64-apple-darwin",
	"win32-x64-msvc": "x86_64-pc-windows-msvc",
	"win32-arm64-msvc": "aarch64-pc-windows-msvc",
};

/** The manifest of the main package. */
export const mainManifest = () => read("package.json");

/** The manifest of a platform package. */
export const platformManifest = (name) => read("npm", name, "package.json");

/** The folders of npm/, one for each platform. */
export const PLATFORM_FOLDERS = readdirSync(join(root, "npm"), { withFileTypes: true })
	.filter((entry) => entry.isDirectory())
	.map(({ name }) => name)
	.sort();

/** The folders of packages/ that are npm packages. */
export const WORKSPACES = readdirSync(join(root, "packages"))
	.filter((name) => existsSync(join(root, "packages", name, "package.json")))
	.sort();

/** The manifest of a workspace. */
export const workspaceManifest = (name) => read("packages", name, "package.json");

function read(...path) {
	return JSON.parse(readFileSync(join(root, ...path), "utf8"));
}

/**
 * Fails unless npm/ has a folder for each platform, all manifests have the version, and the workspaces
 * require exactly that version of each other and of the main package.
 */
export function checkManifests(version = mainManifest().version) {
	const { version: own, name: main } = mainManifest();
	const expected = Object.keys(PLATFORMS).sort();
	if (PLATFORM_FOLDERS.join() !== expected.join())
		fail(`npm/: expected ${expected}, found ${PLATFORM_FOLDERS}`);
	const cargo = readFileSync(join(root, "Cargo.toml"), "utf8");
	const crate = /^version = "(.*)"$/m.exec(cargo)?.[1];
	const versions = { "package.json": own, "Cargo.toml": crate };
	const parts = [
		...PLATFORM_FOLDERS.map((name) => ["npm", name]),
		...WORKSPACES.map((name) => ["packages", name]),
	];
	for (const [parent, name] of parts) {
		const manifest = read(parent, name, "package.json");
		const place = `${parent}/${name}/package.json`;
		versions[place] = manifest.version;
		if (manifest.name !== `${main}-${name}`)
			fail(`${place}: expected the name ${main}-${name}, found ${manifest.name}`);
		// Workspaces use internal modules of the main package, which change in any version.
		const { dependencies, peerDependencies, optionalDependencies } = manifest;
		const ranges = { ...dependencies, ...optionalDependencies, ...peerDependencies };
		for (const [name, range] of Object.entries(ranges))
			if (name.startsWith(main) && range !== version)
				fail(`${place}: expected ${name} ${version}, found ${range}`);
	}
	for (const [place, found] of Object.entries(versions))
		if (found !== version) fail(`${place}: expected version ${version}, found ${found}`);
}
