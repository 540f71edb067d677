/** The package in another folder: a second installation, or one with another addon. */

import { copyFileSync, cpSync, mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";

/**
 * Copies what is published into a temporary folder; `library`, if given, becomes the addon. Returns the
 * folder, and the URL of the package's entry.
 */
export function copyPackage(library) {
	const { files, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const folder = mkdtempSync(join(tmpdir(), "kp-copy-"));
	const platform = join("npm", platformName());
	for (const path of ["package.json", ...files, platform])
		cpSync(join(root, path), join(folder, path), { recursive: true });
	symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
	if (library) copyFileSync(library, join(folder, platform, `scoring.${platformName()}.node`));
	return { folder, entry: pathToFileURL(join(folder, exports["."].import.default)).href };
}
