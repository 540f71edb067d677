/** The temporary folder of a run: registry, caches, one project for each installer. */
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execute, inTurn, must } from "../lib/process.mjs";
import { root } from "../lib/run.mjs";
import { FIXTURES } from "./fixtures.mjs";
import { npmInstaller } from "./installers.mjs";
import { startRegistry } from "./registry.mjs";
import { buildSdk } from "./sdk.mjs";
import { here, npm, toolNode } from "./tools.mjs";

const dist = join(root, "dist");

export const PACKAGE = "@knowledgepulse/scoring";

const BUILD_SECONDS = 540;

/** The manifest of a package. */
async function manifestOf(tarball) {
	const { stdout } = await must(["tar", "-xzOf", tarball, "package/package.json"]);
	return JSON.parse(stdout);
}

/** The command that runs a program without network; root needs no user namespace for it. */
async function isolation() {
	for (const option of ["-n", "-rn"])
		if (!(await execute(["unshare", option, "true"])).problem) return ["unshare", option];
	throw new Error("neither `unshare -n` nor `unshare -rn` works: nothing runs without network");
}

/** Replaces a platform package that dist/ lacks by the parts that installers read. */
function placeholder(folder, name, version) {
	const [os, cpu, libc] = name.slice(PACKAGE.length + 1).split("-");
	const manifest = { name, version, os: [os], cpu: [cpu] };
	if (os === "linux") manifest.libc = [libc === "gnu" ? "glibc" : libc];
	const target = join(folder, "placeholders", name);
	mkdirSync(target, { recursive: true });
	writeFileSync(join(target, "package.json"), JSON.stringify(manifest));
	return target;
}

export class Workspace {
	#made = new Map();

	static async open() {
		const workspace = new Workspace();
		workspace.isolated = await isolation();
		workspace.folder = mkdtempSync(join(tmpdir(), "scoring-matrix-"));
		return workspace;
	}

	/** Returns a folder in that of the run, made if it is missing. */
	folderOf(...path) {
		const folder = join(this.folder, ...path);
		mkdirSync(folder, { recursive: true });
		return folder;
	}

	/** Starts the registry, and publishes what is in dist/ and the stand-in for the SDK. */
	async publish(say) {
		const files = existsSync(dist) ? readdirSync(dist).filter((name) => name.endsWith(".tgz")) : [];
		if (files.length < 2) throw new Error("dist/ lacks the packages: run `npm run package`");
		const cwd = this.folderOf("registry");
		const { stdout: upstream } = await must(["npm", "config", "get", "registry"], { cwd });
		this.registry = await startRegistry(cwd, upstream.trim());
		// npm publishes only with a token; this registry ignores it.
		this.userconfig = join(this.folder, "npmrc");
		writeFileSync(this.userconfig, `//127.0.0.1:${this.registry.port}/:_authToken=none\n`);
		const tarballs = files.map((name) => join(dist, name));
		const manifests = await Promise.all(tarballs.map(manifestOf));
		const main = manifests.find(({ name }) => name === PACKAGE);
		this.version = main.version;
		const missing = Object.keys(main.optionalDependencies).filter(
			(name) => !manifests.some((manifest) => manifest.name === name),
		);
		const others = missing.map((name) => placeholder(this.folder, name, main.version));
		others.push(...(await buildSdk(this.folder)));
		const options = { env: this.environment("publish"), cwd, seconds: 120 };
		await inTurn([...tarballs, ...others], 2, (what) =>
			must([...npm, "publish", what, "--ignore-scripts", "--tag", "latest"], options),
		);
		const names = (list) => list.join(", ") || "none";
		say(`published ${names(manifests.map(({ name }) => name))}; empty: ${names(missing)}`);
	}

	/** An environment without access to the user's files. */
	environment(name) {
		const home = this.folderOf("homes", name);
		return {
			PATH: [dirname(toolNode), "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
			LANG: "C.UTF-8",
			HOME: home,
			TMPDIR: home,
			npm_config_userconfig: this.userconfig,
			npm_config_registry: this.registry.url,
			npm_config_ignore_scripts: "true",
			npm_config_update_notifier: "false",
			npm_config_audit: "false",
			npm_config_fund: "false",
		};
	}

	/** A new project with the fixtures and the recipes, and nothing installed. */
	emptyProject(name, files = {}) {
		const folder = join(this.folder, "projects", name);
		cpSync(join(here, "fixtures"), folder, { recursive: true });
		cpSync(join(root, "examples/recipes"), join(folder, "recipes"), { recursive: true });
		cpSync(join(root, "__test__/data/custom-model"), join(folder, "custom-model"), {
			recursive: true,
		});
		const all = {
			"package.json": '{ "name": "project", "private": true, "type": "module" }\n',
			// Not every installer reads npm's environment variables.
			".npmrc": `registry=${this.registry.url}\n`,
			...files,
		};
		for (const [file, text] of Object.entries({ ...FIXTURES, ...all })) {
			mkdirSync(dirname(join(folder, file)), { recursive: true });
			writeFileSync(join(folder, file), text);
		}
		return folder;
	}

	/** Returns what `make` has returned for a key when it was first called. */
	once(key, make) {
		if (!this.#made.has(key)) this.#made.set(key, make());
		return this.#made.get(key);
	}

	/** The project of an installer, installed on first use. */
	project({ name, install, files, what = PACKAGE }) {
		return this.once(name, async () => {
			const id = name.replaceAll(/[ ,]+/g, "-");
			const folder = this.emptyProject(id, files?.(this.registry.url));
			const options = { cwd: folder, env: this.environment(id), seconds: 180 };
			await must(install(`${what}@${this.version}`), options);
			return { folder, id, env: options.env };
		});
	}

	/** Runs a command that builds something in a project, once. */
	build(command, { folder, env }) {
		const options = { cwd: folder, env, seconds: BUILD_SECONDS };
		return this.once([folder, ...command].join(" "), () => must(command, options));
	}

	/** Runs a program in a project, without network. */
	run(command, { folder, id }, options = {}) {
		return execute([...this.isolated, ...command], {
			cwd: folder,
			// No registry and no caches, because a run needs neither.
			env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", HOME: this.folderOf("homes", `${id}-run`) },
			...options,
		});
	}

	/** Runs a program in the folder of a deployment, where no project, network or home folder is seen. */
	runMoved(command, folder) {
		const [unshare, what] = this.isolated;
		const script = 'mount -t tmpfs none "$0" && ip link set lo up && exec "$@"';
		const hidden = [unshare, `${what}m`, "sh", "-c", script, join(this.folder, "projects")];
		const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };
		return execute([...hidden, ...command], { cwd: folder, env, seconds: 60 });
	}

	/** The scores of an installation. */
	plainScores() {
		return this.once("scores", async () => {
			const project = await this.project(npmInstaller);
			const { stdout } = await this.run([toolNode, "score.mjs"], project);
			return JSON.parse(stdout).scores;
		});
	}

	close(keep) {
		this.registry?.stop();
		if (keep) console.log(`kept: ${this.folder}`);
		else rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
	}
}
