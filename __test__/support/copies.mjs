/** The package in another folder: a second installation, or one with another addon. */

import { copyFileSync, cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";
import { temporaryFolder } from "./model-folder.mjs";

const { files, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Copies the main package, without an addon, into a folder for the test `t`. Returns the folder, and its entry's URL. */
export function copyMainPackage(t) {
	const folder = temporaryFolder(t);
	for (const path of ["package.json", ...files])
		cpSync(join(root, path), join(folder, path), { recursive: true });
	symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
	return { folder, entry: pathToFileURL(join(folder, exports["."].import.default)).href };
}

/**
 * Copies what is published into a folder for the test `t`; `library`, if given, becomes the addon. Returns
 * the URL of the package's entry.
 */
export function copyPackage(t, library) {
	const { folder, entry } = copyMainPackage(t);
	const platform = join("npm", platformName());
	cpSync(join(root, platform), join(folder, platform), { recursive: true });
	if (library) copyFileSync(library, join(folder, platform, `scoring.${platformName()}.node`));
	return entry;
}
