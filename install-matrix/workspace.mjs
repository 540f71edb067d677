/** The temporary folder of a run: registry, caches, one project for each installer. */
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execute, must } from "./process.mjs";
import { manifestOf, publish, startRegistry, tarballs } from "./registry.mjs";
import { here, toolNode } from "./tools.mjs";

const dist = join(dirname(here), "dist");

export const PACKAGE = "@knowledgepulse/scoring";

/** What starts a program without any network: root needs no user namespace, others do. */
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

/** A platform package that package.json names and dist/ lacks, as far as installers look at it. */
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

	static async open() {
		const workspace = new Workspace();
		workspace.isolated = await isolation();
		workspace.folder = mkdtempSync(join(tmpdir(), "scoring-matrix-"));
		return workspace;
	}

	/** Starts the registry and publishes what is in dist/. */
	async publish(say) {
		const files = existsSync(dist) ? tarballs(dist) : [];
		if (files.length < 2)
			throw new Error("dist/ lacks the packages: run `npm run package`");
		const folder = join(this.folder, "registry");
		mkdirSync(folder);
		this.registry = await startRegistry(folder);
		const { url, port } = this.registry;
		// npm publishes only with some token; this registry takes any for none.
		this.userconfig = join(this.folder, "npmrc");
		writeFileSync(this.userconfig, `//127.0.0.1:${port}/:_authToken=none\n`);
		const options = { url, env: this.environment("publish"), cwd: folder };
		const manifests = await Promise.all(files.map(manifestOf));
		for (const file of files) await publish(file, options);
		const main = manifests.find(({ name }) => name === PACKAGE);
		if (!main) throw new Error(`dist/ lacks ${PACKAGE}`);
		this.version = main.version;
		for (const [name, version] of Object.entries(main.optionalDependencies)) {
			if (manifests.some((manifest) => manifest.name === name)) continue;
			say(`registry: ${name} is not in dist/, an empty one stands for it`);
			await publish(placeholder(this.folder, name, version), options);
		}
		say(
			`registry: ${manifests.map(({ name }) => name).join(", ")} ${main.version}`,
		);
	}

	/** An environment in which nothing of this machine's user is found or written. */
	environment(name, more = {}) {
		const home = join(this.folder, "homes", name);
		mkdirSync(home, { recursive: true });
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

	/** A new project with the fixtures and nothing installed. */
	emptyProject(name, files = {}) {
		const folder = join(this.folder, "projects", name);
		cpSync(join(here, "fixtures"), folder, { recursive: true });
		const all = {
			"package.json":
				'{ "name": "project", "private": true, "type": "module" }\n',
			// Not every installer listens to npm's environment variables.
			".npmrc": `registry=${this.registry.url}\n`,
			...files,
		};
		for (const [file, text] of Object.entries(all))
			writeFileSync(join(folder, file), text);
		return folder;
	}

	/** The project of an installer, installed when it is first asked for. */
	project(installer) {
		let project = this.#projects.get(installer.name);
		if (!project) {
			project = this.#install(installer);
			this.#projects.set(installer.name, project);
		}
		return project;
	}

	async #install(installer) {
		const { name, install, files, env } = installer;
		const id = name.replaceAll(" ", "-");
		const folder = this.emptyProject(id, files?.(this.registry.url));
		const options = {
			cwd: folder,
			env: this.environment(id, env),
			seconds: 180,
		};
		const { seconds } = await must(
			install(`${PACKAGE}@${this.version}`),
			options,
		);
		return { folder, id, seconds, env: options.env };
	}

	/** Runs a program in a project, without network. */
	run(command, { folder, id }, options = {}) {
		return execute([...this.isolated, ...command], {
			cwd: folder,
			// No registry and no caches: a run must need neither.
			env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", HOME: this.runHome(id) },
			...options,
		});
	}

	runHome(id) {
		const home = join(this.folder, "homes", `${id}-run`);
		mkdirSync(home, { recursive: true });
		return home;
	}

	/** A folder that has what programs read, and is in no project. */
	elsewhere() {
		const folder = join(this.folder, "elsewhere");
		mkdirSync(folder, { recursive: true });
		cpSync(join(here, "fixtures/traces.json"), join(folder, "traces.json"));
		return folder;
	}

	close(keep) {
		this.registry?.stop();
		if (keep) console.log(`kept: ${this.folder}`);
		else rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
	}
}

/** The recorded scores of fixtures/traces.json; record.mjs says where they are from. */
export const expected = JSON.parse(
	readFileSync(join(here, "expected.json"), "utf8"),
);
