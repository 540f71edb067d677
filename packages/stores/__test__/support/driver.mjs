/**
 * The driver `pg`: the installed one, or the one in the folder `KP_PG_DRIVER`, which the stores get too, as in the install
 * matrix.
 */
import Module, { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const folder = process.env.KP_PG_DRIVER;
if (folder) {
	const resolve = Module._resolveFilename;
	Module._resolveFilename = (name, ...rest) => resolve(name === "pg" ? folder : name, ...rest);
}

const pg = require("pg");
export default pg;

/** Its version, as numbers. */
export const version = require(`${folder || "pg"}/package.json`)
	.version.split(".")
	.map(Number);
