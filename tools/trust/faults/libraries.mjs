/** ONNX Runtime libraries that are missing, damaged, too old, or of another system. */
import {
	chmodSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	statSync,
	truncateSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { assertEndedWell } from "../../../__test__/support/child.mjs";
import { damage, library, link } from "../../../__test__/support/model-folder.mjs";
import { installPackage } from "../../lib/cache.mjs";
import { root } from "../../lib/run.mjs";
import { callIn } from "../lib/child.mjs";
import { finding } from "../lib/finding.mjs";
import { CONFIGURATIONS, environment, rightScores } from "./configurations.mjs";
import { flip } from "./damage.mjs";
import { asNobody } from "./limits.mjs";
import { judge, probeQuietly, TRACES, tally } from "./probe.mjs";

/** Releases before the oldest supported one, and that one. PyPI has no library of these. */
const RELEASES = [
	{
		version: "1.14.0",
		integrity:
			"sha512-5ba7TWomIV/9b6NH/1x/8QEeowsb+jBEvFzU6z0T4mNsFwdPqXeFUM7uxC6QeSRkEbWu3qEB0VMjrvzN/0S9+w==",
	},
	{
		version: "1.16.3",
		integrity:
			"sha512-6T2pjwg5ik74VnI1IXFzxvPAm2UCo+vNNsDGbMP+A2q6GZPMYai2pMA17g3YMUvgOZLwsjWBUwNIlP4QaVRFlA==",
	},
	{
		version: "1.17.0",
		integrity:
			"sha512-pRxdqSP3a6wtiFVkVX1V3/gsEMwBRUA9D2oYmcN3cjF+j+ILS+SIY2L7KxdWapsG6z64i5rUn8ijFZdIvbojBg==",
	},
];

const ENTRY = "onnxruntime.json";

/** The outcome of scoring with this library in a fresh process, see {@link judge}. */
async function outcomeWith(file, { naming = file, mode = "auto", under } = {}) {
	const [configuration] = CONFIGURATIONS;
	const ended = await callIn("faults/probe.mjs", "probeQuietly", {
		input: TRACES,
		under,
		env: {
			...environment(configuration),
			KNOWLEDGEPULSE_SCORING_LIBRARY: file,
			KNOWLEDGEPULSE_SCORING_EMBEDDER: mode,
		},
	});
	assertEndedWell(ended);
	return judge(ended.value, await rightScores(configuration), naming);
}

/** A file of node_modules/onnxruntime-node, or of another release of it, for a platform. */
function nodeLibrary(platform, folder = join(root, "node_modules/onnxruntime-node")) {
	const place = join(folder, "bin/napi-v3", platform);
	const name = readdirSync(place)
		.sort((a, b) => b.length - a.length)
		.find((file) => /^(lib)?onnxruntime\.(so|dylib|dll|\d)/.test(file));
	return join(place, name);
}

/** Libraries that cannot be used: what is wrong, and the file. */
function* unusable(folder) {
	for (const [what, make] of Object.entries(damage)) {
		// Digests are checked for the shipped library only, which is a row of its own.
		if (["is longer", "has one other byte"].includes(what)) continue;
		const file = join(folder, what);
		link(library, file);
		make(file, library);
		yield [what, file];
	}
	const host = `${process.platform}/${process.arch}`;
	for (const platform of ["linux/x64", "linux/arm64", "darwin/arm64", "win32/x64"])
		if (platform !== host) yield [`is of ${platform}`, nodeLibrary(platform)];
	if (process.platform === "linux") {
		const file = join(folder, "another machine");
		copyFileSync(library, file);
		// One bit of e_machine in the ELF header.
		flip(file, 18, 3);
		yield ["is of an unknown machine", file];
	}
}

/** Libraries that the user names. */
export async function namedLibraries({ log }) {
	const folder = mkdtempSync(join(tmpdir(), "scoring faults "));
	const outcomes = tally();
	const names = [];
	try {
		for (const [what, file] of unusable(folder)) {
			for (const mode of ["auto", "required"]) {
				const outcome = await outcomeWith(file, { mode });
				if (outcome !== "right") throw new Error(`a library that ${what}: ${outcome}`);
				outcomes.add(outcome);
			}
			names.push(what);
		}
		log(`libraries: ${names.join("; ")}`);
		return [
			{
				what: `a library that ${names.join(", or ")}`,
				tried: `${names.length} libraries, embedder auto and required`,
				found: `${outcomes}`,
			},
			await unreadable(folder),
		];
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** A library without permission to read it. Root may read everything, so another user has to try. */
async function unreadable(folder) {
	const what = "a library that may not be read";
	const under = asNobody();
	if (process.getuid?.() === 0 && !under)
		return {
			what,
			tried: "not available here",
			found: "root reads everything",
		};
	const file = join(folder, "unreadable");
	copyFileSync(library, file);
	chmodSync(file, 0);
	chmodSync(folder, 0o755);
	const outcome = await outcomeWith(file, { under });
	if (outcome !== "right") throw new Error(`${what} is ${outcome}`);
	return { what, tried: "1", found: "right, by the native backend" };
}

/** Older releases: the native backend takes the place of what is too old. */
export async function oldLibraries({ log }) {
	const platform = `${process.platform}/${process.arch}`;
	const told = [];
	for (const { version, integrity } of RELEASES) {
		const requirement = `onnxruntime-node@${version}`;
		const file = `onnxruntime-node-${version}.tgz`;
		const folder = installPackage({ requirement, file, integrity });
		const outcome = await outcomeWith(nodeLibrary(platform, folder));
		if (outcome !== "right") throw new Error(`ONNX Runtime ${version}: ${outcome}`);
		told.push(`${version} ${outcome}`);
	}
	log(`older libraries: ${told.join(", ")}`);
	return {
		what: "ONNX Runtime of older releases",
		tried: RELEASES.map(({ version }) => version).join(", "),
		found: told.join(", "),
	};
}

/** Scores with one library after another, until one is loaded: a process can load only one. */
export async function tryInTurn(scoring, input, send) {
	for (const { fault, library } of damageLibrary(input)) {
		const scorer = new scoring.Scorer({ library });
		send({ fault, found: await probeQuietly(scorer, TRACES) });
		if (scoring.status().embedder.libraryVersion) return;
		if (scorer.status().embedder.libraryVersion) return;
	}
}

/** Yields for each fault the path of a library that has it, or whose entry has it. */
function* damageLibrary({ folder, faults }) {
	for (const [i, fault] of faults.entries()) {
		const place = mkdtempSync(join(folder, `${i}-`));
		for (const file of [library, join(dirname(library), ENTRY)])
			copyFileSync(file, join(place, basename(file)));
		const damaged = join(place, fault.name);
		if (fault.kind === "flip") flip(damaged, fault.at, fault.bit);
		else truncateSync(damaged, fault.at);
		yield { fault, library: join(place, basename(library)) };
		rmSync(place, { recursive: true });
	}
}

/** The library that is shipped, beside the entry with its digest. */
export async function shippedLibrary({ cuts, flips, draw, log }) {
	const right = await rightScores(CONFIGURATIONS[0]);
	const outcomes = tally();
	const folder = mkdtempSync(join(tmpdir(), "scoring faults "));
	const size = (name) => statSync(join(dirname(library), name)).size;
	const fault = (kind, name) => {
		const at = draw.below(size(name));
		return kind === "cut" ? { kind, name, at } : { kind, name, at, bit: draw.below(8) };
	};
	let faults = [ENTRY, basename(library)].flatMap((name) => [
		...Array.from({ length: cuts / 2 }, () => fault("cut", name)),
		...Array.from({ length: flips / 2 }, () => fault("flip", name)),
	]);
	mkdirSync(folder, { recursive: true });
	try {
		while (faults.length > 0) {
			const ended = await callIn("faults/libraries.mjs", "tryInTurn", {
				input: { folder, faults },
				killAfterMs: 600_000,
			});
			for (const { fault, found } of ended.values) {
				try {
					outcomes.add(judge(found, right, folder));
				} catch (error) {
					throw finding(error, `library, ${JSON.stringify(fault)}`);
				}
			}
			assertEndedWell(ended);
			faults = faults.slice(ended.values.length);
		}
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
	log(`the library beside its digest: ${outcomes}`);
	return {
		what: "the shipped library, or the entry with its digest, cut off or with one other bit",
		tried: `${outcomes.total} places`,
		found: `no wrong score: ${outcomes}; a library that the user names has no digest`,
	};
}
