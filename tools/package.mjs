/**
 * Builds and checks the tarballs, into dist/. `npm run matrix` installs and runs them.
 *
 *     npm run package                              all platforms
 *     npm run package -- --host                    this platform
 *     npm run package -- --platform linux-x64-gnu  one platform, or several
 *     npm run package -- --main                    no platform
 *
 * The main package and the workspaces are packed in any case.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { platformName } from "./lib/build.mjs";
import { fail, npx } from "./lib/run.mjs";
import { obstacle } from "./package/build.mjs";
import { checkMain, checkPlatform, checkWorkspace } from "./package/check.mjs";
import { DIST, packMain, packPlatform, packWorkspace } from "./package/pack.mjs";
import { checkManifests, mainManifest, PLATFORMS, WORKSPACES } from "./package/platforms.mjs";
import { installPackages } from "./prepare.mjs";

const { values: options } = parseArgs({
	options: {
		host: { type: "boolean" },
		main: { type: "boolean" },
		platform: { type: "string", multiple: true },
	},
});

/** The platforms that were asked for, or all that can be built for here. */
function platforms() {
	const asked = [...(options.platform ?? []), ...(options.host ? [platformName()] : [])];
	const strict = asked.length > 0 || options.main;
	const all = Object.keys(PLATFORMS);
	return (strict ? asked : all).filter((name) => {
		const reason = all.includes(name) ? obstacle(name) : `no platform ${name}: there are ${all}`;
		if (reason && strict) fail(reason);
		if (reason) console.log(`package: without ${name}: ${reason}`);
		return !reason;
	});
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;

function conclude(packed, complaints) {
	for (const complaint of complaints) console.error(`${packed.filename}: ${complaint}`);
	if (complaints.length > 0) fail(`${packed.filename} cannot be published`);
	npx(["publint", "--strict", packed.path]);
	console.log(
		`package: ${packed.filename}: ${megabytes(packed.size)}, unpacked ${megabytes(packed.unpackedSize)}, ${packed.files.length} files`,
	);
}

checkManifests();
await installPackages();
mkdirSync(DIST, { recursive: true });
const names = platforms();
const main = packMain();
conclude(main, checkMain(main));
// The subpaths of the workspaces have no types.
const internal = Object.keys(mainManifest().exports).filter((path) =>
	path.startsWith("./internal/"),
);
npx(["attw", main.path, "--exclude-entrypoints", ...internal]);
for (const name of WORKSPACES) {
	const packed = packWorkspace(name);
	conclude(packed, checkWorkspace(packed));
	npx(["attw", "--profile", "node16", packed.path]);
}
for (const name of names) {
	const packed = await packPlatform(name);
	conclude(packed, checkPlatform(packed, main));
}
rmSync(join(DIST, "stage"), { recursive: true, force: true });
