/** A scorer as the options describe it, with its memory. */
const { access, readFile } = require("node:fs/promises");
const { InputError } = require("./exit.js");
const { Scorer } = require("./engine.js");

async function profilesOf(path) {
	if (path === undefined) return undefined;
	const text = await readFile(path, "utf8").catch((error) => {
		throw new InputError(`cannot read ${path}: ${error.message}`);
	});
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ""));
	} catch (error) {
		throw new InputError(`${path}: no JSON: ${error.message}`);
	}
}

/** The store of a URL: `postgres://…` or `sqlite:FILE`, with `?namespace=NAME`. */
function storeOf(url) {
	if (url === undefined) return undefined;
	const [, scheme, rest] = /^([a-z]+):(.*)$/.exec(url) ?? [];
	const load = (name) => {
		try {
			return require(`@knowledgepulse/scoring-stores/${name}`);
		} catch (error) {
			if (error.code !== "MODULE_NOT_FOUND") throw error;
			throw new InputError("--store needs a package: npm install @knowledgepulse/scoring-stores");
		}
	};
	if (scheme === "sqlite") {
		const [path, query] = rest.replace(/^\/\/(?=\/)/, "").split("?");
		const namespace = new URLSearchParams(query).get("namespace") ?? undefined;
		const { SqliteNoveltyLog } = load("sqlite");
		return new SqliteNoveltyLog({ path, ...(namespace && { namespace }) });
	}
	if (scheme === "postgres" || scheme === "postgresql") {
		const address = new URL(url);
		const namespace = address.searchParams.get("namespace");
		address.searchParams.delete("namespace");
		const { PostgresNoveltyLog } = load("postgres");
		return new PostgresNoveltyLog({
			connectionString: address.href,
			...(namespace && { namespace }),
		});
	}
	throw new InputError(`--store: expected postgres://… or sqlite:FILE, found ${url}`);
}

class Session {
	#store;
	#memory;

	/** Opens the memory, if there is one, and loads the model. */
	static async open({ memory, profiles, store, embedder, precision }) {
		if (memory !== undefined && store !== undefined)
			throw new InputError("--memory and --store exclude each other");
		const session = new Session();
		session.#store = storeOf(store);
		session.#memory = memory;
		const options = {
			embedder,
			...(precision && { precision }),
			...(profiles && { profiles: await profilesOf(profiles) }),
			...(session.#store && { store: session.#store, storeMode: "required" }),
		};
		const exists =
			memory !== undefined &&
			(await access(memory).then(
				() => true,
				() => false,
			));
		session.scorer = exists ? await Scorer.load(memory, options) : new Scorer(options);
		try {
			if (embedder === "required") await session.scorer.warmup();
		} catch (error) {
			await session.close();
			throw error;
		}
		return session;
	}

	/** Writes the memory back, where there is a file for it. */
	async save() {
		if (this.#memory !== undefined) await this.scorer.save(this.#memory);
	}

	async close() {
		this.scorer.close();
		await this.#store?.close();
	}
}

module.exports = { Session, profilesOf };
