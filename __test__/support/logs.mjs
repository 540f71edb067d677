/** Logs of all formats, with the results of importing them. */
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The logs that were written for the tests: an archive for each format. Their results have texts and inputs in full. */
const archives = pathOf("../data/logs");

/** Unpacks the archives into a folder that is removed when the process ends; `golden` in it leads to the results. */
function unpacked() {
	const folder = mkdtempSync(join(tmpdir(), "scoring logs "));
	process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
	for (const name of readdirSync(archives).filter((name) => name.endsWith(".txtar"))) {
		const text = readFileSync(join(archives, name), "utf8").slice(0, -1);
		for (const log of `\n${text}`.split("\n-- ").slice(1)) {
			const end = log.indexOf(" --\n");
			const path = join(folder, basename(name, ".txtar"), log.slice(0, end));
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(path, `${log.slice(end + 4)}\n`);
		}
	}
	symlinkSync(join(archives, "golden"), join(folder, "golden"), "junction");
	return folder;
}

export const written = unpacked();

/** Beside the repository there may be recorded logs, whose results have digests. */
const recorded = ["logs", "logs-2", "logs-3"].map((name) => pathOf(`../../../shared/${name}`));
export const logRoots = [written, ...recorded];

/**
 * Recorded logs whose results later rules change: a fork has the id of its last session; NaN is read; outputs that are JSON
 * stay so, and what follows a result is said after it; Goose's messages may stand in lines; sessions of Codex before 0.32 are
 * messages.
 */
const changed = [
	"claude-code/written-traps.jsonl",
	"errors/written-nan.json",
	"ai-sdk/written-parts.json",
	"codex/old-layout.jsonl",
	"errors/goose.jsonl",
];

/** What a log of a known format without a trace says by a later rule. */
const withWord = (log) =>
	log.traces.length + log.errors.length > 0
		? log
		: { ...log, errors: [{ line: null, code: "NO_TRACE" }] };

/**
 * Returns the logs below these folders, by folder: the paths of the files, and their results.
 * @returns {{ root: string, name: string, paths: string[], golden: any[] }[]}
 */
export const readLogs = (roots = logRoots) =>
	roots.filter(existsSync).flatMap((root) =>
		readdirSync(join(root, "golden"))
			// Results with other options are separate.
			.filter((file) => file !== "options.json")
			.map((file) => {
				// A later specification changes these results.
				const newer = join(root, "../logs-3/golden-of", basename(root), file);
				const path = existsSync(newer) ? newer : join(root, "golden", file);
				const all = JSON.parse(readFileSync(path, "utf8"));
				const golden =
					root === written ? all : all.filter(({ file }) => !changed.includes(file)).map(withWord);
				const paths = golden.map(({ file }) => join(root, file));
				return { root, name: basename(file, ".json"), paths, golden };
			}),
	);
