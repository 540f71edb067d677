/** The package in another folder: a second installation, or one with another addon. */

import { copyFileSync, cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";
import { temporaryFolder } from "./model-folder.mjs";

/**
 * Copies what is published into a folder for the test `t`; `library`, if given, becomes the addon. Returns
 * the URL of the package's entry.
 */
export function copyPackage(t, library) {
	const { files, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const folder = temporaryFolder(t);
	const platform = join("npm", platformName());
	for (const path of ["package.json", ...files, platform])
		cpSync(join(root, path), join(folder, path), { recursive: true });
	symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
	if (library) copyFileSync(library, join(folder, platform, `scoring.${platformName()}.node`));
	return pathToFileURL(join(folder, exports["."].import.default)).href;
}
