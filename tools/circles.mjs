/**
 * Fails if files of a crate use each other in a circle, also by re-exports. A module and those in it are none. `cargo modules`
 * takes minutes to build.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fail, root } from "./lib/run.mjs";

const COMMENTS_AND_TEXTS = /\/\/.*|\/\*[\s\S]*?\*\/|r(#+)"[\s\S]*?"\1|"(?:\\.|[^"\\])*"/g;
const TESTS = /#\[cfg\(test\)\]\s*mod \w+ \{[\s\S]*/;

/** Returns the paths in a tree of `use`, each with the name that it gets. */
function paths(tree) {
	let flat = tree.replace(/\s+as\s+/g, "=").replace(/\s/g, "");
	const group = /([\w:]*)\{([^{}]*)\}/;
	for (let found = group.exec(flat); found; found = group.exec(flat)) {
		const inner = found[2].split(",").filter(Boolean);
		flat = flat.replace(found[0], inner.map((part) => found[1] + part).join(","));
	}
	return flat.split(",").map((part) => {
		const [path, name] = part.replace(/::self$/, "").split("=");
		return { path, name: name ?? path.split("::").at(-1) };
	});
}

/** Returns the modules of a crate by their paths. */
function modulesOf(file, name = "crate", folder = dirname(file), all = new Map()) {
	const text = readFileSync(file, "utf8").replace(COMMENTS_AND_TEXTS, " ").replace(TESTS, " ");
	const listed = /^formats! \{([^}]*)\}/m.exec(text)?.[1].match(/\w+/g) ?? [];
	const children = [...text.matchAll(/\bmod (\w+);/g)].map(([, child]) => child).concat(listed);
	const uses = [...text.matchAll(/(pub[^;{}]*)?\buse ([^;]+);/g)];
	const used = uses.flatMap(([, exports, tree]) =>
		paths(tree).map((path) => ({ exports, ...path })),
	);
	const inline = (text.match(/\b(?:crate|super)(?:::\w+)+/g) ?? []).map((path) => ({ path }));
	all.set(name, { file, children, used: [...used, ...inline] });
	for (const child of children) {
		const found = [join(folder, `${child}.rs`), join(folder, child, "mod.rs")].find(existsSync);
		if (found) modulesOf(found, `${name}::${child}`, join(folder, child), all);
	}
	return all;
}

/** Returns the modules that a path from a module leads through, and the one that defines what it means. */
function resolve(modules, from, path, above = []) {
	const [first, ...rest] = path.split("::");
	if (![...modules.get(from).children, "crate", "self", "super"].includes(first)) return [from];
	const through = [];
	let at = first === "crate" ? "crate" : from;
	const steps = ["crate", "self"].includes(first) ? rest : [first, ...rest];
	for (const step of steps) {
		const next = step === "super" ? at.replace(/::\w+$/, "") : `${at}::${step}`;
		const exported = modules.get(at).used.find((use) => use.exports && use.name === step);
		if (exported && at !== from && !above.includes(exported))
			return [...through, ...resolve(modules, at, exported.path, [...above, exported])];
		if (!modules.has(next)) break;
		at = next;
		through.push(at);
	}
	return [at, ...through];
}

/** Returns a circle of modules; undefined if there is none. */
function circle(graph, module, above = [], done = new Set()) {
	if (above.includes(module)) return [...above.slice(above.indexOf(module)), module];
	if (done.has(module)) return undefined;
	done.add(module);
	for (const next of graph.get(module)) {
		const found = circle(graph, next, [...above, module], done);
		if (found) return found;
	}
}

const crates = readdirSync(join(root, "crates")).map((crate) => join(root, "crates", crate));
for (const source of [root, ...crates].map((folder) => join(folder, "src/lib.rs"))) {
	const modules = modulesOf(source);
	const graph = new Map();
	for (const [name, { used }] of modules) {
		const needed = used.flatMap(({ path }) => resolve(modules, name, path));
		graph.set(name, new Set(needed.filter((other) => !`${name}::`.startsWith(`${other}::`))));
	}
	const found = [...graph.keys()].map((name) => circle(graph, name)).find(Boolean);
	const files = found?.map((name) => relative(root, modules.get(name).file)).join(" → ");
	if (found) fail(`a circle of files: ${files}`);
}
