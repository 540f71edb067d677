/**
 * Loads the addon of this platform: from `npm/` in a checkout of the repository, from the platform
 * package everywhere else. The public surface is documented in index.d.ts.
 */

/** The platform packages that may fit this system, the likelier first. */
function platforms() {
	const { platform, arch } = process;
	// Asking the system for its C library takes longer than trying to load the addon for it.
	if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
	return platform === "win32"
		? [`win32-${arch}-msvc`]
		: [`${platform}-${arch}`];
}

function load() {
	const names = platforms();
	const failures = [];
	for (const name of names) {
		for (const file of [
			`./npm/${name}/scoring.${name}.node`,
			`@knowledgepulse/scoring-${name}`,
		]) {
			try {
				return require(file);
			} catch (error) {
				failures.push(`  ${file}: ${String(error.message).split("\n")[0]}`);
			}
		}
	}
	const error = new Error(
		`@knowledgepulse/scoring found no addon for this system. It looked for\n${failures.join("\n")}\n` +
			`Install it with: npm install @knowledgepulse/scoring-${names[0]}`,
	);
	error.code = "ADDON_NOT_FOUND";
	throw error;
}

const native = load();

// Without this, threads of the engine could still be in ONNX Runtime while its static data is
// being destroyed. An environment cleanup hook alone does not run when the main thread exits.
process.once("exit", native.close);

/** A class of JavaScript's own refuses to be called without `new`, which a native one does not. */
class VectorCache extends native.VectorCache {}

let localCache;

exports.evaluateValue = native.evaluateValue;
exports.explainValue = native.explainValue;
exports.warmup = native.warmup;
exports.configure = native.configure;
exports.status = native.status;
exports.VectorCache = VectorCache;
exports._getLocalCache = function _getLocalCache() {
	localCache ??= Object.setPrototypeOf(
		native.localCache(),
		VectorCache.prototype,
	);
	return localCache;
};
