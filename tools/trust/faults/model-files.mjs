/** Model files that are cut off or have one other bit. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertEndedWell } from "../../../__test__/support/child.mjs";
import { modelFolder, readManifest } from "../../../__test__/support/model-folder.mjs";
import { callIn } from "../lib/child.mjs";
import { finding } from "../lib/finding.mjs";
import { CONFIGURATIONS, rightScores } from "./configurations.mjs";
import { judge, tally } from "./probe.mjs";

const NAMES = ["manifest.json", ...readManifest(modelFolder).files.map(({ name }) => name)];

/** What a backend reads: the native one needs no graphs. */
const filesOf = ({ backend }) =>
	backend === "native" ? NAMES.filter((name) => !name.endsWith(".onnx")) : NAMES;

/** Faults of one file: `cuts` lengths, the longest first, and `flips` bits. */
function faultsOf(name, cuts, flips, below) {
	const bytes = statSync(join(modelFolder, name)).size;
	const lengths = new Set([0, bytes - 1].slice(0, cuts));
	while (lengths.size < cuts) lengths.add(below(bytes));
	const embedder = (i) => (i % 2 ? "required" : "auto");
	return [
		...Array.from({ length: flips }, (_, i) => {
			const fault = { kind: "flip", at: below(bytes), bit: below(8) };
			return { ...fault, embedder: embedder(i) };
		}),
		...[...lengths]
			.sort((a, b) => b - a)
			.map((at, i) => ({ kind: "cut", at, embedder: embedder(i) })),
	];
}

/** The share of `count` of the one at `i` among so many; the first ones get the remainder. */
const share = (count, i, among) => Math.floor((count + among - 1 - i) / among);

/** Damages the files in so many ways in each configuration. */
export async function damagedModels({ cuts, flips, manifestFlips, draw, log }) {
	const rows = [];
	for (const configuration of CONFIGURATIONS) {
		const right = await rightScores(configuration);
		const outcomes = { cut: tally(), flip: tally() };
		const files = filesOf(configuration);
		for (const [i, name] of files.entries()) {
			const more = name === "manifest.json" ? manifestFlips : 0;
			const faults = faultsOf(
				name,
				share(cuts, i, files.length),
				share(flips, i, files.length) + more,
				draw.below,
			);
			await inOneFile({ configuration, name, faults, right, outcomes });
		}
		const { cut, flip } = outcomes;
		log(`${configuration.name}: cut off: ${cut}; one bit: ${flip}`);
		rows.push(
			[`model files cut off, ${configuration.name}`, cut, files.length],
			[`one other bit in a model file, ${configuration.name}`, flip, files.length],
		);
	}
	return rows.map(([what, found, files]) => ({
		what,
		tried: `${found.total} places in ${files} files`,
		found: `no wrong score: ${found}`,
	}));
}

async function inOneFile({ configuration, name, faults, right, outcomes }) {
	const folder = mkdtempSync(join(tmpdir(), "scoring faults "));
	try {
		const original = readFileSync(join(modelFolder, name));
		const ended = await callIn("faults/damage.mjs", "scoreDamaged", {
			input: { configuration, name, folder, faults },
			execArgv: ["--expose-gc"],
			killAfterMs: 600_000,
		});
		for (const { fault, found } of ended.values) {
			const { kind, at, bit } = fault;
			// The reason may name the manifest, or a file that it lists.
			const naming = name === "manifest.json" ? folder : name;
			try {
				outcomes[kind].add(judge(found, right, naming));
			} catch (error) {
				const where = `${kind} at byte ${at}${bit === undefined ? "" : `, bit ${bit}`}`;
				const near = original.subarray(Math.max(0, at - 30), at + 10);
				const text = JSON.stringify(near.toString("latin1"));
				const how = `${configuration.name}, ${name}, ${where}, near ${text}`;
				throw finding(error, how);
			}
		}
		assertEndedWell(ended);
		if (ended.values.length !== faults.length)
			throw new Error(`${name}: ended after ${ended.values.length} faults`);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
