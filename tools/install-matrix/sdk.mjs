/**
 * Projects with a stand-in for the SDK, in which scoring-transformers takes the place of transformers.js.
 * The stand-in is built as the SDK is: one bundled file for each module system.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "../lib/process.mjs";
import { installers } from "./installers.mjs";
import { here, tool } from "./tools.mjs";

const SDK = "@knowledgepulse/sdk";
const TRANSFORMERS = "@huggingface/transformers";
const ALIAS = "npm:@knowledgepulse/scoring-transformers@^0.1.0";
const RANGE = { [TRANSFORMERS]: "^3.8.1" };

/** The ways in which the SDK may declare transformers.js, each as a version of the stand-in. */
const DECLARATIONS = [
	{
		name: "optional peer",
		version: "1.0.0",
		fields: {
			peerDependencies: RANGE,
			peerDependenciesMeta: { [TRANSFORMERS]: { optional: true } },
		},
	},
	{
		name: "dependency",
		version: "2.0.0",
		fields: { optionalDependencies: RANGE },
	},
];

/** The file of the stand-in for each module system. */
const FILES = { esm: "index.mjs", cjs: "index.cjs" };

/** Builds the stand-ins below `folder`; returns their folders. */
export async function buildSdk(folder) {
	return Promise.all(
		DECLARATIONS.map(async ({ version, fields }) => {
			const target = join(folder, `sdk-${version}`);
			mkdirSync(target, { recursive: true });
			for (const [format, file] of Object.entries(FILES))
				await must([
					...[tool("esbuild/bin/esbuild"), join(here, "sdk-stand-in.mjs"), "--bundle"],
					...["--platform=node", "--target=node20", `--format=${format}`],
					...[`--external:${TRANSFORMERS}`, `--outfile=${join(target, file)}`],
				]);
			const exports = { import: `./${FILES.esm}`, require: `./${FILES.cjs}` };
			const manifest = { name: SDK, version, exports, ...fields };
			writeFileSync(join(target, "package.json"), JSON.stringify(manifest));
			return target;
		}),
	);
}

/** The installers, each with a project for each declaration. */
export const sdkInstallers = DECLARATIONS.flatMap(({ name, version }) =>
	installers.map((installer) => ({
		...installer,
		name: `${installer.name}, SDK with ${name}`,
		files(url) {
			const manifest = {
				private: true,
				type: "module",
				dependencies: { [SDK]: version, [TRANSFORMERS]: ALIAS },
			};
			return { ...installer.files?.(url), ...installer.overriding(manifest, TRANSFORMERS, ALIAS) };
		},
		install: () => installer.installAll,
	})),
);
