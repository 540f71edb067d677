/** Model files that are cut off or have one other bit. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertEndedWell, run } from "../../__test__/lib/child.mjs";
import { modelDir, readManifest } from "../../__test__/lib/model-folder.mjs";
import { CONFIGURATIONS, rightScores } from "./configurations.mjs";
import { judge, TRACES, tally } from "./probe.mjs";

const NAMES = [
	"manifest.json",
	...readManifest(modelDir).files.map(({ name }) => name),
];

/** What a runtime reads: the one in Rust has no use for graphs. */
const filesOf = ({ runtime }) =>
	runtime === "rust" ? NAMES.filter((name) => !name.endsWith(".onnx")) : NAMES;

/** Scores with each of the damaged folders, one after the other, in a fresh process. */
async function scoreDamaged({ scoring, input, send }) {
	const { damageOneByOne } = await import("../trust/faults/damage.mjs");
	const { probe } = await import("../trust/faults/probe.mjs");
	const { setImmediate: turn } = await import("node:timers/promises");
	process.emitWarning = () => {};
	for (const { fault, modelDir } of damageOneByOne(input)) {
		const { runtime, precision } = input.configuration;
		const { embedder } = fault;
		const options = { modelDir, runtime, precision, embedder };
		const scorer = new scoring.Scorer(options);
		const found = await probe(scorer, input.traces);
		send({ fault, found });
		scorer.close();
		// Models that could be loaded are to go before the next.
		gc();
		await turn();
	}
}

/** Faults of one file: `cuts` lengths, the longest first, and `flips` bits. */
function faultsOf(name, cuts, flips, below) {
	const bytes = statSync(join(modelDir, name)).size;
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

/** The part of `count` that falls to the one at `i` of so many, the earlier ones first. */
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
			[
				`one other bit in a model file, ${configuration.name}`,
				flip,
				files.length,
			],
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
		const original = readFileSync(join(modelDir, name));
		const ended = await run(scoreDamaged, {
			input: { configuration, name, folder, faults, traces: TRACES },
			execArgv: ["--expose-gc"],
			killAfterMs: 600_000,
		});
		for (const { fault, found } of ended.values) {
			const { kind, at, bit } = fault;
			// The manifest may be blamed, or the files that it speaks of.
			const naming = name === "manifest.json" ? folder : name;
			try {
				outcomes[kind].add(judge(found, right, naming));
			} catch (error) {
				const where = `${kind} at byte ${at}${bit === undefined ? "" : `, bit ${bit}`}`;
				const near = original.subarray(Math.max(0, at - 30), at + 10);
				throw new Error(
					`${configuration.name}, ${name}, ${where}, by ${JSON.stringify(near.toString("latin1"))}: ${error.message}`,
				);
			}
		}
		assertEndedWell(ended);
		if (ended.values.length !== faults.length)
			throw new Error(`${name}: ended after ${ended.values.length} faults`);
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
