/**
 * Publishes the tarballs of a folder: node tools/release/publish.mjs [FOLDER]. The platform packages go
 * first and the workspaces last, so that none names a package that is missing. Packages already published
 * with the same bytes are skipped, so that a failed run can be repeated.
 *
 *     node tools/release/publish.mjs --check v1.2.3   only checks that all manifests have that version
 */
import { join } from "node:path";
import { digest } from "../lib/cache.mjs";
import { attempt, fail, npm, root, SHELL } from "../lib/run.mjs";
import { checkManifests, mainManifest, PLATFORMS, WORKSPACES } from "../package/platforms.mjs";

/** The oldest npm that can publish without a token (trusted publishing). */
const OLDEST_NPM = [11, 5, 1];

const main = mainManifest();

function checkVersions(tag) {
	try {
		checkManifests(tag.replace(/^v/, ""));
	} catch (error) {
		fail(`${tag}: ${error.message}`);
	}
	console.log(`publish: every manifest has the version of ${tag}`);
}

function checkNpm() {
	const version = npm(["--version"], { stdio: "pipe" });
	const found = version.trim().split(".").map(Number);
	const difference = OLDEST_NPM.map((part, index) => found[index] - part);
	if (difference.find((part) => part !== 0) < 0)
		fail(`npm ${version.trim()} is too old: ${OLDEST_NPM.join(".")} is needed`);
}

/** The integrity of a published version; undefined if it is not published. */
function published(name, version) {
	const { code, stdout, output } = attempt(
		"npm",
		["view", `${name}@${version}`, "dist.integrity", "--json"],
		SHELL,
	);
	if (code === 0) return stdout.trim() ? JSON.parse(stdout) : undefined;
	if (output.includes("E404")) return undefined;
	return fail(`npm view ${name}@${version} failed:\n${output}`);
}

function publish(folder, name) {
	const base = name.replace("@", "").replace("/", "-");
	const file = join(folder, `${base}-${main.version}.tgz`);
	const integrity = `sha512-${digest("sha512", file, "base64")}`;
	const there = published(name, main.version);
	if (there === undefined) {
		const tag = main.version.includes("-") ? "next" : "latest";
		// npm can state where a package was built only if it runs in a workflow.
		const provenance = process.env.GITHUB_ACTIONS ? ["--provenance"] : [];
		npm(["publish", file, ...provenance, "--access", "public", "--ignore-scripts", "--tag", tag]);
	} else if (there === integrity)
		console.log(`publish: ${name}@${main.version} is published already`);
	else
		fail(
			`${name}@${main.version} is published with other contents (${there}, here ${integrity}): repeat only the failed jobs of that run, or raise the version`,
		);
}

const [first, second] = process.argv.slice(2);
if (first === "--check") checkVersions(second);
else {
	if (process.env.GITHUB_ACTIONS) checkNpm();
	for (const name of [
		...Object.keys(PLATFORMS).map((platform) => `${main.name}-${platform}`),
		main.name,
		...WORKSPACES.map((workspace) => `${main.name}-${workspace}`),
	])
		publish(first ?? join(root, "dist"), name);
}
