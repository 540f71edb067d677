/**
 * Stages the packages of a folder on npm, from where a person publishes them: docs/dev/release.md. Packages that
 * are staged or published already are skipped, so that a failed run can be repeated.
 *
 *     node tools/release/publish.mjs [FOLDER]             stages them
 *     node tools/release/publish.mjs --approve [FOLDER]   publishes what is staged, if it has the same bytes
 *     node tools/release/publish.mjs --direct [FOLDER]    publishes them in a registry without staging
 *     node tools/release/publish.mjs --check v1.2.3       only checks that all manifests have that version
 *
 * It refuses what does not say where the repository is.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { digest } from "../lib/cache.mjs";
import { attempt, fail, npm, root, run, SHELL } from "../lib/run.mjs";
import {
	checkManifests,
	mainManifest,
	PLATFORM_FOLDERS,
	WORKSPACES,
} from "../package/platforms.mjs";

/** npm shows a version some time after it has accepted it. */
const READABLE_MINUTES = 10;

const { name: main, version } = mainManifest();
const publishOptions = ["--access", "public", "--tag", version.includes("-") ? "next" : "latest"];
const output = (args) => npm(args, { stdio: ["ignore", "pipe", "inherit"] }).trim();
const integrityOf = (file) => `sha512-${digest("sha512", file, "base64")}`;

/** Fails if a page still has what stands there until the first release. */
function checkPlaceholders() {
	for (const file of ["README.md", "SECURITY.md", "docs/install.md"]) {
		const text = readFileSync(join(root, file), "utf8");
		const [found] = /OWNER\/REPOSITORY|Until its release/.exec(text) ?? [];
		if (found) fail(`${file}: expected what holds after a release, found ${JSON.stringify(found)}`);
	}
}

function checkVersions(tag) {
	checkPlaceholders();
	checkManifests(tag.replace(/^v/, ""));
	console.log(`publish: every manifest has the version of ${tag}`);
}

/** The packages in a folder, each after those that it needs. */
function packagesIn(folder) {
	const names = [
		...PLATFORM_FOLDERS.map((platform) => `${main}-${platform}`),
		main,
		...WORKSPACES.map((workspace) => `${main}-${workspace}`),
	];
	return names.map((name) => {
		const base = name.replace("@", "").replace("/", "-");
		// npm takes a relative path for a repository on GitHub.
		const file = resolve(folder, `${base}-${version}.tgz`);
		if (!existsSync(file)) fail(`${file}: expected a package for each platform, found none`);
		return { name, file, integrity: integrityOf(file) };
	});
}

/** Fails unless the manifest of a package says where its repository is. */
function checkAddresses({ name, file }) {
	const options = { stdio: ["ignore", "pipe", "inherit"] };
	const manifest = JSON.parse(run("tar", ["-xzOf", file, "package/package.json"], options));
	const missing = ["homepage", "bugs", "repository"].filter((field) => !(field in manifest));
	if (missing.length > 0)
		fail(
			`${name}: its manifest has no ${missing.join(", ")}: pack it where the remote "origin" is an https URL, or with GITHUB_SERVER_URL and GITHUB_REPOSITORY`,
		);
}

/** Whether this version of a package is published in a registry; fails if it is with other contents. */
async function isPublished({ name, integrity }, registry) {
	const headers = { accept: "application/vnd.npm.install-v1+json" };
	const ask = () => fetch(registry + name.replace("/", "%2f"), { cache: "no-store", headers });
	// While npm ran, the registry may have closed the connection, which the first attempt finds out.
	const response = await ask()
		.catch(ask)
		.catch((error) => fail(`${name}: ${error.cause?.message ?? error.message}`));
	if (!response.ok && response.status !== 404)
		fail(`${name}: expected the registry to answer 200 or 404, found ${response.status}`);
	const { versions } = response.ok ? await response.json() : {};
	const there = versions?.[version]?.dist.integrity;
	if (there !== undefined && there !== integrity)
		fail(
			`${name}@${version} is published with other contents (${there}, here ${integrity}): repeat only the failed jobs of that run, or raise the version`,
		);
	return there !== undefined;
}

async function untilPublished(item, registry) {
	const end = Date.now() + READABLE_MINUTES * 60_000;
	while (!(await isPublished(item, registry))) {
		if (Date.now() > end) fail(`${item.name}@${version} is not readable yet: repeat this later`);
		await sleep(2000);
	}
}

/** Only npm's error says that a version is staged already: a workflow may not list what is. */
function stage({ name, file }) {
	const { code, output } = attempt("npm", ["stage", "publish", file, ...publishOptions], SHELL);
	console.log(output);
	if (code !== 0 && !/^npm error code E409$/m.test(output))
		fail(`${name}: npm stage publish failed (${code})`);
	if (code !== 0) console.log(`publish: ${name}@${version} is staged already`);
}

/** The identifier of a staged package; fails unless it has the bytes of the file. */
function stagedId({ name, integrity }, staged) {
	const item = staged.find((item) => item.packageName === name && item.version === version);
	if (!item) fail(`${name}@${version} is neither published nor staged`);
	const folder = mkdtempSync(join(tmpdir(), "staged-"));
	const options = { cwd: folder, stdio: ["ignore", "ignore", "inherit"] };
	npm(["stage", "download", item.id], options);
	const found = integrityOf(join(folder, readdirSync(folder)[0]));
	rmSync(folder, { recursive: true });
	if (found !== integrity)
		fail(
			`${name}@${version} is staged with other contents (${found}, here ${integrity}): reject it`,
		);
	return item.id;
}

async function release(folder, { approve, direct }) {
	const registry = output(["config", "get", "registry"]).replace(/\/*$/, "/");
	const waiting = [];
	const items = packagesIn(folder);
	checkPlaceholders();
	items.forEach(checkAddresses);
	for (const item of items)
		if (await isPublished(item, registry))
			console.log(`publish: ${item.name}@${version} is published already`);
		else waiting.push(item);
	if (!approve && !direct) return waiting.forEach(stage);
	const staged = approve ? JSON.parse(output(["stage", "list", "--json"])) : [];
	// Compares all of them before the first is published.
	const commands = waiting.map((item) =>
		approve
			? ["stage", "approve", stagedId(item, staged)]
			: ["publish", item.file, ...publishOptions],
	);
	for (const [index, item] of waiting.entries()) {
		npm(commands[index]);
		// Packages that need this one must not be readable before it.
		await untilPublished(item, registry);
	}
}

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		approve: { type: "boolean" },
		check: { type: "string" },
		direct: { type: "boolean" },
	},
});
if (values.check) checkVersions(values.check);
else await release(positionals[0] ?? join(root, "dist"), values);
