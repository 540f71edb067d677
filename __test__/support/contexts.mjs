/** The package in contexts of `vm`. */

import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname } from "node:path";
import vm from "node:vm";

const require = createRequire(import.meta.url);

/** Loads the package again in a new context, as Jest does. */
export function loadInContext() {
	const context = vm.createContext({
		AbortController,
		AbortSignal,
		clearTimeout,
		performance,
		process,
		queueMicrotask,
		setTimeout,
	});
	const modules = new Map();
	const load = (filename) => {
		if (filename.endsWith(".node")) return require(filename);
		if (modules.has(filename)) return modules.get(filename).exports;
		const module = { exports: {} };
		modules.set(filename, module);
		const local = createRequire(filename);
		const requireHere = (name) =>
			isBuiltin(name) || name.endsWith(".json") ? local(name) : load(local.resolve(name));
		requireHere.resolve = local.resolve;
		const names = ["require", "module", "exports", "__dirname", "__filename"];
		const code = readFileSync(filename, "utf8");
		const wrapped = vm.compileFunction(code, names, { filename, parsingContext: context });
		wrapped(requireHere, module, module.exports, dirname(filename), filename);
		return module.exports;
	};
	return { context, scoring: load(require.resolve("@knowledgepulse/scoring")) };
}
