/** Files of the checkout. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** Returns the files in a folder, and in the folders in it, whose name has this ending. */
export const filesBelow = (folder, ending) =>
	readdirSync(join(root, folder), { recursive: true })
		.filter((file) => file.endsWith(ending) && !file.includes("node_modules"))
		.map((file) => join(folder, file))
		.sort();
