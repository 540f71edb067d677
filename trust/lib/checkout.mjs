/** A copy of the checkout with another addon: other processes use the one that is there. */
import { copyFileSync, cpSync, existsSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { platformName } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/run.mjs";
import { execute, targetFolder } from "./rust.mjs";

/** Makes the copy in `target/<name>`, with `library` for its addon; gives its folder. */
export function checkoutWith(library, name) {
	const folder = targetFolder(name);
	rmSync(folder, { recursive: true, force: true });
	const listed = execute("git", [
		...["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
	]);
	const platform = platformName();
	const files = [...new Set(listed.split("\0").filter(Boolean))];
	for (const path of [...files, `npm/${platform}`, "benchmark/.model"])
		if (existsSync(join(root, path)))
			cpSync(join(root, path), join(folder, path), { recursive: true });
	symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
	copyFileSync(
		library,
		join(folder, `npm/${platform}/scoring.${platform}.node`),
	);
	return folder;
}
