/** The package or the checkout in another folder: with another addon, or as a second installation. */
import {
	copyFileSync,
	cpSync,
	existsSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { platformName } from "../../lib/build.mjs";
import { root } from "../../lib/run.mjs";
import { outputOf, targetFolder } from "./rust.mjs";

const platform = join("npm", platformName());

/** Copies these paths; `library`, if given, becomes the addon. */
function copyTo(folder, paths, library) {
	for (const path of [...paths, platform])
		if (existsSync(join(root, path)))
			cpSync(join(root, path), join(folder, path), { recursive: true });
	const modules = join(folder, "node_modules");
	symlinkSync(join(root, "node_modules"), modules, "junction");
	const addon = join(folder, platform, `scoring.${platformName()}.node`);
	if (library) copyFileSync(library, addon);
}

/** Copies what is published into a temporary folder: returns that, and the URL of the entry. */
export function copyPackage(library) {
	const { files, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const folder = mkdtempSync(join(tmpdir(), "kp-copy-"));
	copyTo(folder, ["package.json", ...files], library);
	const entry = pathToFileURL(join(folder, exports["."].import.default));
	return { folder, entry: entry.href };
}

/** Copies the checkout to `target/<name>`; returns that folder. */
export function copyCheckout(name, library) {
	const folder = targetFolder(name);
	rmSync(folder, { recursive: true, force: true });
	const listed = outputOf("git", [
		...["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
	]);
	const paths = new Set(listed.split("\0").filter(Boolean));
	copyTo(folder, [...paths, "benchmark/.model"], library);
	return folder;
}
