/**
 * Writes bills of materials of the packages, in the CycloneDX format: node tools/release/sbom.mjs
 * [FOLDER]. Needs `cargo install cargo-cyclonedx --locked`.
 *
 *     knowledgepulse-scoring-VERSION.cdx.json      the addon's crates, the model, ONNX Runtime
 *     knowledgepulse-scoring-VERSION-npm.cdx.json  npm packages, those for development included
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { npm, root, run } from "../lib/run.mjs";

const SPECIFICATION = "1.5";
const SCRATCH = "sbom.scratch";

const read = (...path) => JSON.parse(readFileSync(join(root, ...path), "utf8"));

/** The crates of every platform's addon. cargo-cyclonedx writes a file beside every Cargo.toml. */
function crates() {
	const format = `--quiet --format json --target all --spec-version ${SPECIFICATION}`;
	run("cargo", ["cyclonedx", ...format.split(" "), "--override-filename", SCRATCH]);
	const crates = join(root, "crates");
	const text = readFileSync(join(root, `${SCRATCH}.json`), "utf8");
	for (const folder of [root, ...readdirSync(crates).map((name) => join(crates, name))])
		rmSync(join(folder, `${SCRATCH}.json`), { force: true });
	// Crates of the workspace are identified by their folders, which mean nothing elsewhere.
	return JSON.parse(text.replaceAll(pathToFileURL(root).href, "file:///."));
}

const license = (id) => [{ license: { id } }];
const sha256 = (content) => [{ alg: "SHA-256", content }];

/** The embedding model, with the digests of the files that it is made from. */
function model({ name, revision, license: id, files }) {
	return {
		type: "machine-learning-model",
		"bom-ref": `model:${name}@${revision}`,
		name,
		version: revision,
		licenses: license(id),
		purl: `pkg:huggingface/${name}@${revision}`,
		components: Object.entries(files).map(([file, digest]) => ({
			type: "file",
			"bom-ref": `model:${name}@${revision}/${file}`,
			name: file,
			hashes: sha256(digest),
		})),
	};
}

/** Some platforms have no build of ONNX Runtime. */
const isPinned = ([, wheel]) => wheel !== null;

/** ONNX Runtime for one platform: the wheel that the library is taken from. */
function library([platform, wheel]) {
	const version = /-(\d[^-]*)-/.exec(wheel.file)[1];
	return {
		type: "library",
		"bom-ref": `onnxruntime:${platform}`,
		name: "onnxruntime",
		version,
		description: `The library in the package for ${platform}`,
		licenses: license("MIT"),
		hashes: sha256(wheel.sha256),
		purl: `pkg:pypi/onnxruntime@${version}?file_name=${wheel.file}`,
	};
}

function addon() {
	const pins = read("tools", "pins.json");
	const bom = crates();
	const bundled = [
		model(pins.model),
		...Object.entries(pins.runtime.wheels).filter(isPinned).map(library),
	];
	bom.components.push(...bundled);
	const own = bom.metadata.component["bom-ref"];
	bom.dependencies
		.find(({ ref }) => ref === own)
		.dependsOn.push(...bundled.map((part) => part["bom-ref"]));
	return bom;
}

function npmPackages() {
	const options = { stdio: ["ignore", "pipe", "inherit"] };
	return JSON.parse(npm(["sbom", "--sbom-format=cyclonedx", "--package-lock-only"], options));
}

const folder = process.argv[2] ?? join(root, "dist");
const name = `knowledgepulse-scoring-${read("package.json").version}`;
mkdirSync(folder, { recursive: true });
for (const [file, bom] of [
	[`${name}.cdx.json`, addon()],
	[`${name}-npm.cdx.json`, npmPackages()],
]) {
	writeFileSync(join(folder, file), `${JSON.stringify(bom, null, 2)}\n`);
	console.log(`sbom: ${file}: ${bom.components.length} components`);
}
