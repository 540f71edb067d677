/** Rehearses a release with a registry on 127.0.0.1, which answers npm's requests from memory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { execute } from "../../tools/lib/process.mjs";
import { root } from "../../tools/lib/run.mjs";
import { mainManifest } from "../../tools/package/platforms.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const { name: main, version } = mainManifest();
const platforms = ["darwin-arm64", "linux-x64-gnu"].map((name) => `${main}-${name}`);
const all = [...platforms, main, `${main}-otel`];
const SECONDS = 120;

const npmVersion = spawnSync("npm --version", { shell: true, encoding: "utf8" }).stdout;
const [major, minor] = npmVersion.split(".").map(Number);
const windows = process.platform === "win32" && "needs a POSIX tar";
const staging = windows || ((major - 11 || minor - 15) < 0 && "needs npm 11.15");

/** What {@link published} of `pack.mjs` adds to a manifest. */
const ADDRESSES = { homepage: "https://h", bugs: "https://b", repository: "https://r" };

/** Writes a tarball for each package into dist/ of a folder; `more` of the manifests makes its bytes different. */
function tarballs(folder, more = {}) {
	mkdirSync(join(folder, "dist"));
	for (const name of all) {
		const base = name.replace("@", "").replace("/", "-");
		mkdirSync(join(folder, "package"), { recursive: true });
		const manifest = { name, version, ...ADDRESSES, ...more };
		writeFileSync(join(folder, "package/package.json"), JSON.stringify(manifest));
		const tar = ["-czf", `dist/${base}-${version}.tgz`, "package"];
		assert.equal(spawnSync("tar", tar, { cwd: folder }).status, 0);
	}
	return folder;
}

/** A checkout with fewer packages, so that npm does not run a hundred times. */
function checkout(t) {
	const folder = temporaryFolder(t);
	for (const name of ["tools/lib", "tools/package", "tools/release", "package.json"])
		cpSync(join(root, name), join(folder, name), { recursive: true });
	mkdirSync(join(folder, "docs"));
	for (const name of ["README.md", "SECURITY.md", "docs/install.md"])
		writeFileSync(join(folder, name), "");
	for (const name of platforms)
		mkdirSync(join(folder, name.replace(`${main}-`, "npm/")), { recursive: true });
	cpSync(join(root, "packages/otel/package.json"), join(folder, "packages/otel/package.json"));
	return folder;
}

class Registry {
	/** Names in the order in which their version became readable. */
	published = new Map();
	/** Staged packages by their identifiers. */
	staged = new Map();
	/** The package whose publication or approval fails. */
	broken;

	static async start(t) {
		const registry = new Registry();
		const server = createServer(async (request, response) => {
			const [status, body] = registry.#answer(request, await json(request).catch(() => undefined));
			response.writeHead(status, { "content-type": "application/json" });
			response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
		});
		await once(server.listen(0, "127.0.0.1"), "listening");
		t.after(() => server.close());
		registry.url = `http://127.0.0.1:${server.address().port}/`;
		registry.checkout = checkout(t);
		registry.home = temporaryFolder(t);
		const token = `${registry.url.slice("http:".length)}:_authToken=none\n`;
		writeFileSync(join(registry.home, "npmrc"), token);
		return registry;
	}

	#publish(name, bytes) {
		if (name === this.broken) return [403, { error: "broken" }];
		this.published.set(name, bytes);
		return [200, { ok: true }];
	}

	#answer({ method, url }, body) {
		const path = decodeURIComponent(url.slice(1).split("?")[0]);
		const bytes = () => Buffer.from(Object.values(body._attachments)[0].data, "base64");
		const stage = /^-\/stage(?:\/package\/(.+)|\/([^/]+)\/(tarball|approve))?$/.exec(path);
		if (stage) {
			const [, name, id, what] = stage;
			if (name) {
				if (name === this.broken) return [403, { error: "broken" }];
				if (
					this.published.has(name) ||
					[...this.staged.values()].some((item) => item.name === name)
				)
					return [409, { error: `Cannot stage previously published version "${version}".` }];
				const stageId = randomUUID();
				this.staged.set(stageId, { name, bytes: bytes() });
				return [201, { stageId }];
			}
			if (what === "tarball") return [200, this.staged.get(id).bytes];
			if (what === "approve") {
				const item = this.staged.get(id);
				const answer = this.#publish(item.name, item.bytes);
				if (answer[0] === 200) this.staged.delete(id);
				return answer;
			}
			const items = [...this.staged].map(([id, { name }]) => ({ id, packageName: name, version }));
			return [200, { items, total: items.length }];
		}
		if (method === "PUT") return this.#publish(path, bytes());
		const there = this.published.get(path);
		if (!there) return [404, { error: "not found" }];
		const integrity = `sha512-${createHash("sha512").update(there).digest("base64")}`;
		const versions = { [version]: { name: path, version, dist: { integrity } } };
		return [200, { name: path, "dist-tags": { latest: version }, versions }];
	}

	names = () => [...this.published.keys()];
	stagedNames = () => [...this.staged.values()].map(({ name }) => name);

	/** Runs publish.mjs for dist/ of a folder; returns its problem, null if it has none, and its output. */
	async run(folder, ...options) {
		const program = join(this.checkout, "tools/release/publish.mjs");
		const command = [process.execPath, program, ...options, "dist"];
		const env = {
			...process.env,
			GITHUB_ACTIONS: "",
			npm_config_cache: join(this.home, "cache"),
			npm_config_registry: this.url,
			npm_config_update_notifier: "false",
			npm_config_userconfig: join(this.home, "npmrc"),
		};
		const { problem, stdout, stderr } = await execute(command, {
			cwd: folder,
			env,
			seconds: SECONDS,
		});
		return { problem, output: stdout + stderr };
	}
}

test("publish.mjs --direct publishes no package before those that it needs, and resumes", {
	skip: windows,
}, async (t) => {
	const folder = tarballs(temporaryFolder(t));
	const registry = await Registry.start(t);
	registry.broken = platforms[1];
	const failed = await registry.run(folder, "--direct");
	assert.ok(failed.problem, failed.output);
	assert.deepEqual(registry.names(), platforms.slice(0, 1));

	registry.broken = undefined;
	const resumed = await registry.run(folder, "--direct");
	assert.equal(resumed.problem, null, resumed.output);
	assert.deepEqual(registry.names(), all);
	assert.equal(resumed.output.split("is published already").length - 1, 1);

	const other = await registry.run(tarballs(temporaryFolder(t), { text: "other" }), "--direct");
	assert.ok(other.problem);
	assert.match(other.output, /is published with other contents/);
});

test("publish.mjs publishes nothing if a tarball is missing", { skip: windows }, async (t) => {
	const registry = await Registry.start(t);
	const { problem, output } = await registry.run(temporaryFolder(t), "--direct");
	assert.ok(problem);
	assert.match(output, /tgz: expected a package for each platform, found none$/m);
	assert.deepEqual(registry.names(), []);
});

test("publish.mjs publishes nothing that does not say where the repository is", {
	skip: windows,
}, async (t) => {
	const registry = await Registry.start(t);
	const folder = tarballs(temporaryFolder(t), { bugs: undefined, repository: undefined });
	const lacking = await registry.run(folder, "--direct");
	assert.match(lacking.output, /darwin-arm64: its manifest has no bugs, repository: /);
	const security = join(registry.checkout, "SECURITY.md");
	writeFileSync(security, "gh attestation verify FILE --repo OWNER/REPOSITORY");
	for (const options of [["--direct"], ["--check", "v1.2.3"]]) {
		const { output } = await registry.run(tarballs(temporaryFolder(t)), ...options);
		assert.match(output, /^error: SECURITY\.md: expected what holds after .*, found "OWNER/m);
	}
	assert.deepEqual(registry.names(), []);
});

test("publish.mjs stages packages, and --approve publishes them in order", {
	skip: staging,
}, async (t) => {
	const folder = tarballs(temporaryFolder(t));
	const registry = await Registry.start(t);
	registry.broken = main;
	const failed = await registry.run(folder);
	assert.ok(failed.problem, failed.output);
	assert.deepEqual(registry.stagedNames(), platforms);
	const early = await registry.run(folder, "--approve");
	assert.match(early.output, /is neither published nor staged/);
	assert.deepEqual(registry.names(), []);

	registry.broken = undefined;
	const resumed = await registry.run(folder);
	assert.equal(resumed.problem, null, resumed.output);
	assert.deepEqual(registry.stagedNames(), all);
	assert.equal(resumed.output.split("is staged already").length - 1, platforms.length);
	assert.deepEqual(registry.names(), []);

	const other = await registry.run(tarballs(temporaryFolder(t), { text: "other" }), "--approve");
	assert.match(other.output, /is staged with other contents/);
	assert.deepEqual(registry.names(), []);

	registry.broken = platforms.at(-1);
	const half = await registry.run(folder, "--approve");
	assert.ok(half.problem, half.output);
	assert.deepEqual(registry.names(), platforms.slice(0, -1));

	registry.broken = undefined;
	const approved = await registry.run(folder, "--approve");
	assert.equal(approved.problem, null, approved.output);
	assert.deepEqual(registry.names(), all);
	assert.deepEqual(registry.stagedNames(), []);
});
