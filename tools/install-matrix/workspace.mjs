/** The temporary folder of a run: registry, caches, one project for each installer. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execute, inTurn, must } from "../lib/process.mjs";
import { root } from "../lib/run.mjs";
import { FIXTURES, TRACES } from "./fixtures.mjs";
import { npmInstaller } from "./installers.mjs";
import { manifestOf, publish, startRegistry, tarballs } from "./registry.mjs";
import { buildSdk } from "./sdk.mjs";
import { here, toolNode } from "./tools.mjs";

const dist = join(root, "dist");

export const PACKAGE = "@knowledgepulse/scoring";

/** The command that runs a program without network; root needs no user namespace for it. */
async function isolation() {
	for (const command of [
		["unshare", "-n"],
		["unshare", "-rn"],
	])
		if (!(await execute([...command, "true"])).problem) return command;
	throw new Error(
		"neither `unshare -n` nor `unshare -rn` works here: programs cannot be run without network",
	);
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
	#projects = new Map();
	#plain;

	static async open() {
		const workspace = new Workspace();
		workspace.isolated = await isolation();
		workspace.folder = mkdtempSync(join(tmpdir(), "scoring-matrix-"));
		return workspace;
	}

	/** Returns a folder in that of the run, made if it is missing. */
	#subfolder(...path) {
		const folder = join(this.folder, ...path);
		mkdirSync(folder, { recursive: true });
		return folder;
	}

	/** Starts the registry, and publishes what is in dist/ and the stand-in for the SDK. */
	async publish(say) {
		const files = existsSync(dist) ? tarballs(dist) : [];
		if (files.length < 2) throw new Error("dist/ lacks the packages: run `npm run package`");
		const folder = this.#subfolder("registry");
		this.registry = await startRegistry(folder);
		const { url, port } = this.registry;
		// npm publishes only with a token; this registry ignores it.
		this.userconfig = join(this.folder, "npmrc");
		writeFileSync(this.userconfig, `//127.0.0.1:${port}/:_authToken=none\n`);
		const options = { url, env: this.environment("publish"), cwd: folder };
		const manifests = await Promise.all(files.map(manifestOf));
		const main = manifests.find(({ name }) => name === PACKAGE);
		if (!main) throw new Error(`dist/ lacks ${PACKAGE}`);
		this.version = main.version;
		const missing = Object.entries(main.optionalDependencies).filter(
			([name]) => !manifests.some((manifest) => manifest.name === name),
		);
		const others = missing.map(([name, version]) => {
			say(`registry: ${name} is not in dist/: an empty package takes its place`);
			return placeholder(this.folder, name, version);
		});
		others.push(...(await buildSdk(this.folder)));
		await inTurn([...files, ...others], 2, (what) => publish(what, options));
		say(`registry: ${manifests.map(({ name }) => name).join(", ")} ${main.version}`);
	}

	/** An environment without access to the user's files. */
	environment(name, more = {}) {
		const home = this.#subfolder("homes", name);
		return {
			PATH: [dirname(toolNode), "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
			LANG: "C.UTF-8",
			HOME: home,
			TMPDIR: home,
			XDG_CACHE_HOME: join(home, "cache"),
			XDG_CONFIG_HOME: join(home, "config"),
			XDG_DATA_HOME: join(home, "data"),
			XDG_STATE_HOME: join(home, "state"),
			npm_config_userconfig: this.userconfig,
			npm_config_registry: this.registry.url,
			npm_config_ignore_scripts: "true",
			npm_config_update_notifier: "false",
			npm_config_audit: "false",
			npm_config_fund: "false",
			...more,
		};
	}

	/** A new project with the fixtures and the recipes, and nothing installed. */
	emptyProject(name, files = {}) {
		const folder = join(this.folder, "projects", name);
		cpSync(join(here, "fixtures"), folder, { recursive: true });
		cpSync(join(root, "examples/recipes"), join(folder, "recipes"), { recursive: true });
		cpSync(join(root, "__test__/data/custom-model"), join(folder, "custom-model"), { recursive: true });
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

	/** The project of an installer, installed on first use. */
	project(installer) {
		let project = this.#projects.get(installer.name);
		if (!project) {
			project = this.#install(installer);
			this.#projects.set(installer.name, project);
		}
		return project;
	}

	async #install(installer) {
		const { name, install, files, env, what = PACKAGE } = installer;
		const id = name.replaceAll(/[ ,]+/g, "-");
		const folder = this.emptyProject(id, files?.(this.registry.url));
		const options = { cwd: folder, env: this.environment(id, env), seconds: 180 };
		const { seconds } = await must(install(`${what}@${this.version}`), options);
		return { folder, id, seconds, env: options.env };
	}

	/** Runs a program in a project, without network. */
	run(command, { folder, id }, options = {}) {
		return execute([...this.isolated, ...command], {
			cwd: folder,
			// No registry and no caches, because a run needs neither.
			env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", HOME: this.#subfolder("homes", `${id}-run`) },
			...options,
		});
	}

	/** A new folder for what is deployed. */
	deployed(id) {
		return this.#subfolder("deployed", id);
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
	async plainScores() {
		this.#plain ??= this.project(npmInstaller)
			.then((project) => this.run([toolNode, "logs.mjs"], project))
			.then(({ stdout }) => JSON.parse(stdout).scores);
		return this.#plain;
	}

	/** A folder outside of all projects, with the file that programs read. */
	elsewhere() {
		const folder = this.#subfolder("elsewhere");
		writeFileSync(join(folder, "traces.json"), TRACES);
		return folder;
	}

	close(keep) {
		this.registry?.stop();
		if (keep) console.log(`kept: ${this.folder}`);
		else rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
	}
}
