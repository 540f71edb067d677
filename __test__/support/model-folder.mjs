/** Copies of the model folder, to be damaged. */

import {
	constants,
	copyFileSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";

/** The model folder beside the addon, and the library of onnxruntime-node. */
export const { model: modelFolder, library } = new Scorer({ backend: "onnx" }).status().embedder;

/** A library of the system, which is loaded already. */
export const otherLibrary = process.report
	.getReport()
	.sharedObjects.find((file) => /libc\.so|libSystem|kernel32/i.test(file));

/** A new empty folder, removed when the test `t` is over, even if a process still ends that writes there. */
export function temporaryFolder(t) {
	const folder = mkdtempSync(join(tmpdir(), "scoring test ü 模型 "));
	t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
	return folder;
}

/** Links a file to `place`, by a symbolic link where the system allows that. */
export function link(file, place) {
	try {
		symlinkSync(file, place);
	} catch {
		linkSync(file, place);
	}
}

/** A folder in `parent` with links to the files of the model. */
export function modelCopy(parent) {
	const folder = join(parent, "model");
	mkdirSync(folder);
	for (const name of readdirSync(modelFolder)) link(join(modelFolder, name), join(folder, name));
	return folder;
}

/** Replaces the link to a file by a copy of it, which may be changed. */
export function ownCopy(file, original) {
	rmSync(file, { force: true });
	copyFileSync(original, file, constants.COPYFILE_FICLONE);
	return file;
}

const onnxRuntimeNode = fileURLToPath(
	new URL("../../node_modules/onnxruntime-node", import.meta.url),
);

/** The library of a platform, such as "linux/x64", in an installation of onnxruntime-node. */
export function nodeLibrary(platform, folder = onnxRuntimeNode) {
	const place = join(folder, "bin/napi-v3", platform);
	const name = readdirSync(place)
		.sort((a, b) => b.length - a.length)
		.find((file) => /^(lib)?onnxruntime\.(so|dylib|dll|\d)/.test(file));
	return join(place, name);
}

export function readManifest(folder) {
	return JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
}

export function writeManifest(folder, manifest) {
	rmSync(join(folder, "manifest.json"));
	writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
}

/** A pattern that matches `text` literally. */
export function literally(text) {
	return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
}
