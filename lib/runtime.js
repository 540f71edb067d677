/** Finds ONNX Runtime in the package onnxruntime-node, which its users install. */
const { readFileSync, readdirSync } = require("node:fs");
const { createRequire } = require("node:module");
const { dirname, join } = require("node:path");
const { platformName } = require("./binding.js");

const NAME = "onnxruntime-node";

/** The folder of the package: that of the application, or that of whoever has installed this package. */
function folderOf() {
	for (const from of [process.argv[1], __filename]) {
		try {
			return dirname(createRequire(from).resolve(`${NAME}/package.json`));
		} catch {
			// Not there, or not started from a file.
		}
	}
}

/** The files of the library in a package, whatever its folders are called. */
function librariesIn(folder) {
	const bin = join(folder, "bin");
	return readdirSync(bin).flatMap((api) => {
		const place = join(bin, api, process.platform, process.arch);
		try {
			const names = readdirSync(place).filter((name) =>
				/^(lib)?onnxruntime\.(so|dll|dylib|\d)/.test(name),
			);
			// Native code cannot read inside an archive of Electron, beside which its builder unpacks such files.
			return names.map((name) => join(place, name).replace(/\.asar(?=[\\/])/, "$&.unpacked"));
		} catch {
			return [];
		}
	});
}

/** What to do where there is none. */
function without(reason) {
	// Later versions have none for it.
	const version = process.platform === "darwin" && process.arch === "x64" ? "@1.23" : "";
	const command = `npm install ${NAME}${version}`;
	return { reason: `${reason}; install it: ${command}; or name a library by the option library` };
}

/** Returns the library and the version of its package, or the reason why there is none. */
module.exports = function findRuntime() {
	if (platformName().endsWith("-musl"))
		return {
			reason:
				"there is none for musl: use the built-in model, or a system with glibc, or name a library that you have built by the option library",
		};
	const folder = folderOf();
	if (!folder) return without(`${NAME} is not installed`);
	try {
		const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
		// The shortest name is the one by which the package itself loads it.
		const [library] = librariesIn(folder).sort((a, b) => a.length - b.length);
		if (library) return { library, version };
		return without(`${folder} (${version}) has none for ${process.platform} ${process.arch}`);
	} catch (error) {
		return without(`${folder} is damaged: ${error.message}`);
	}
};
