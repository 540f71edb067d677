/**
 * Writes bills of materials of the packages, in the CycloneDX format: node tools/release/sbom.mjs
 * [FOLDER]. Needs `cargo install cargo-cyclonedx --locked`.
 *
 *     knowledgepulse-scoring-VERSION.cdx.json      the addon's crates and the model
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

/** The embedding model, with the digests of the files that it is made from. */
function model({ name, revision, license: id, files }) {
	return {
		type: "machine-learning-model",
		"bom-ref": `model:${name}@${revision}`,
		name,
		version: revision,
		licenses: [{ license: { id } }],
		purl: `pkg:huggingface/${name}@${revision}`,
		components: Object.entries(files).map(([file, digest]) => ({
			type: "file",
			"bom-ref": `model:${name}@${revision}/${file}`,
			name: file,
			hashes: [{ alg: "SHA-256", content: digest }],
		})),
	};
}

function addon() {
	const bom = crates();
	const bundled = model(read("model", "pins.json").model);
	bom.components.push(bundled);
	const own = bom.metadata.component["bom-ref"];
	bom.dependencies.find(({ ref }) => ref === own).dependsOn.push(bundled["bom-ref"]);
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
