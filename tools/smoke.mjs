/**
 * Installs the tarballs of a folder into an empty project and scores traces with the real model:
 * node tools/smoke.mjs [FOLDER]. Needs nothing but Node.js and npm.
 */
import { join } from "node:path";
import { platformName } from "./lib/build.mjs";
import { root, run } from "./lib/run.mjs";
import { install, writeCases } from "./smoke/project.mjs";

const folder = install(process.argv[2] ?? join(root, "dist"), platformName());
for (const file of writeCases(folder)) run(process.execPath, ["score.mjs", file], { cwd: folder });
