/**
 * Publishes the tarballs of a folder: node scripts/publish.mjs [FOLDER]. The platform packages go
 * first, so that the main one never names a package that is not there. What is published already,
 * bit for bit, is skipped: a run that failed half-way can be repeated.
 *
 *     node scripts/publish.mjs --check v1.2.3   only checks that all manifests have that version
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root, run } from "./lib/run.mjs";

/** The oldest npm that can publish without a token (trusted publishing). */
const OLDEST_NPM = [11, 5, 1];

const npmOptions = { shell: process.platform === "win32" };
const read = (...path) => readFileSync(join(root, ...path), "utf8");
const main = JSON.parse(read("package.json"));
const platforms = readdirSync(join(root, "npm")).sort();

/** Where a version stands, and which. */
function versions() {
	const crate = /^version = "(.*)"$/m.exec(read("Cargo.toml"))?.[1];
	const manifests = platforms.map((name) => `npm/${name}/package.json`);
	return [
		["package.json", main.version],
		["Cargo.toml", crate],
		...manifests.map((file) => [file, JSON.parse(read(file)).version]),
	];
}

function checkVersions(tag) {
	const wrong = versions().filter(([, version]) => `v${version}` !== tag);
	for (const [place, version] of wrong)
		console.error(`${place}: expected the version of ${tag}, found ${version}`);
	if (wrong.length > 0) fail(`the tag ${tag} does not fit`);
	console.log(`publish: every manifest has the version of ${tag}`);
}

function checkNpm() {
	const version = run("npm", ["--version"], { ...npmOptions, stdio: "pipe" });
	const found = version.trim().split(".").map(Number);
	const difference = OLDEST_NPM.map((part, index) => found[index] - part);
	if (difference.find((part) => part !== 0) < 0)
		fail(`npm ${version.trim()} is too old: ${OLDEST_NPM.join(".")} is needed`);
}

/** The integrity of a published version; undefined where there is none. */
function published(name, version) {
	const { status, stdout, stderr } = spawnSync(
		"npm",
		["view", `${name}@${version}`, "dist.integrity", "--json"],
		{ ...npmOptions, encoding: "utf8" },
	);
	if (status === 0) return stdout.trim() ? JSON.parse(stdout) : undefined;
	if (`${stdout}${stderr}`.includes("E404")) return undefined;
	return fail(`npm view ${name}@${version} failed:\n${stderr}`);
}

function publish(folder, name) {
	const base = name.replace("@", "").replace("/", "-");
	const file = join(folder, `${base}-${main.version}.tgz`);
	const digest = createHash("sha512").update(readFileSync(file));
	const integrity = `sha512-${digest.digest("base64")}`;
	const there = published(name, main.version);
	if (there === undefined) {
		const tag = main.version.includes("-") ? "next" : "latest";
		run(
			"npm",
			[
				...["publish", file, "--provenance", "--access", "public"],
				...["--ignore-scripts", "--tag", tag],
			],
			npmOptions,
		);
	} else if (there === integrity)
		console.log(`publish: ${name}@${main.version} is there already`);
	else
		fail(
			`${name}@${main.version} is published with other contents (${there}, here ${integrity}): repeat only the failed jobs of that run, or raise the version`,
		);
}

const [first, second] = process.argv.slice(2);
if (first === "--check") checkVersions(second);
else {
	checkNpm();
	for (const name of platforms)
		publish(first ?? join(root, "dist"), `${main.name}-${name}`);
	publish(first ?? join(root, "dist"), main.name);
}
