/** The package in another folder, as a second installation of it. */
import assert from "node:assert/strict";
import {
	cpSync,
	mkdtempSync,
	readFileSync,
	statSync,
	symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { platformName } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/run.mjs";

/** The addon, from the top of a package. */
export const addon = join(
	"npm",
	platformName(),
	`scoring.${platformName()}.node`,
);

/** Everything that the package needs, in another folder; the files are other ones. */
export function copyOfThePackage() {
	const copy = mkdtempSync(join(tmpdir(), "kp-copy-"));
	const platform = join("npm", platformName());
	const { files } = JSON.parse(
		readFileSync(join(root, "package.json"), "utf8"),
	);
	const code = files.filter((name) => name.endsWith("js"));
	for (const name of ["package.json", ...code, platform])
		cpSync(join(root, name), join(copy, name), { recursive: true });
	symlinkSync(
		join(root, "node_modules"),
		join(copy, "node_modules"),
		"junction",
	);
	assert.notEqual(
		statSync(join(copy, addon)).ino,
		statSync(join(root, addon)).ino,
	);
	return copy;
}
