/**
 * Scores the runs of years on many machines: a job for each part of a project, on the queue pg-boss.
 *
 *     node backfill.ts send FOLDER   # a job for each FOLDER/logs/PROJECT/PART, a file or a folder of files
 *     node backfill.ts work FOLDER   # does jobs until it is stopped: on each machine, in several processes
 *
 * All machines see the same folder. DATABASE_URL is PostgreSQL; KEEP is the number of runs to keep of a part (200).
 */
import { createWriteStream } from "node:fs";
import { access, mkdir, readdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Scorer } from "@knowledgepulse/scoring";
import { type ImportError, importTraces } from "@knowledgepulse/scoring/logs";
import { PgBoss } from "pg-boss";

/** Parts of a project are in order of their names, such as 2026-01; `before` is the one before this one. */
interface Part {
	project: string;
	part: string;
	before?: string | undefined;
}

const QUEUE = "backfill";
const LOG = /\.(jsonl?|ndjson|traj)(\.(gz|zst))?$/;
const READING = { assumeSuccess: true, errors: "collect" } as const;
/** What is wrong with this machine, and not with a log. */
const FAULTS = ["EMBEDDER_UNAVAILABLE", "INTERNAL", "LIBRARY_UNAVAILABLE", "NO_THREADS"];

const [command, folder = "."] = process.argv.slice(2);
const count = Number(process.env.KEEP ?? 200);

const exists = (path: string) =>
	access(path).then(
		() => true,
		() => false,
	);

const isFolder = async (path: string) => (await stat(path)).isDirectory();

/** The logs of a part, in order of their names. */
async function logsOf({ project, part }: Part) {
	const path = join(folder, "logs", project, part);
	if (!(await isFolder(path))) return [path];
	const names = await readdir(path, { recursive: true });
	return names
		.filter((name) => LOG.test(name))
		.sort()
		.map((name) => join(path, name));
}

/** What is wrong with a log, as a row. A disk or a model that fails is no property of a log: the part is tried again. */
function rowOf(error: ImportError) {
	const { code, source, line, message, cause } = error;
	if (cause || FAULTS.includes(code)) throw error;
	return { error: { code, source, line, message } };
}

async function* rows(scorer: Scorer, logs: string[]) {
	for await (const row of scorer.evaluateLogs(logs, { ...READING, known: "skip" }))
		yield `${JSON.stringify("error" in row ? rowOf(row.error) : row)}\n`;
}

async function* imported(logs: string[]) {
	for await (const item of importTraces(logs, READING)) if (!item.error) yield item;
}

async function* traces(logs: string[]) {
	for await (const { trace } of imported(logs)) yield trace;
}

/** The few runs that stand for all of the part, in their order in the logs. */
async function* kept(scorer: Scorer, logs: string[]) {
	const selected = await scorer.select(traces(logs), { count });
	const places = new Map(selected.map((one) => [one.index, one]));
	let index = 0;
	for await (const { trace, provenance } of imported(logs)) {
		const one = places.get(index++);
		if (!one) continue;
		const metadata = {
			...trace.metadata,
			...(provenance.successFrom === "assumed" && { success_from: "assumed" }),
			// What the next round weighs it by.
			...(one.standsFor > 0 && { stands_for: one.standsFor, covers: one.covers }),
		};
		yield `${JSON.stringify({ ...trace, metadata })}\n`;
	}
}

/** Writes to a name of its own, and renames: a file is there as a whole or not at all. */
async function write(path: string, lines: AsyncIterable<string>) {
	const partial = `${path}.${crypto.randomUUID()}.partial`;
	await mkdir(dirname(path), { recursive: true });
	await pipeline(lines, createWriteStream(partial, { flush: true }));
	await rename(partial, path);
}

/** The same part gives the same files, whoever scores it and how often: the snapshot, which ends it, has no ages. */
async function score(one: Part) {
	const path = (kind: string, part: string, suffix: string) =>
		join(folder, kind, one.project, `${part.replace(LOG, "")}${suffix}`);
	const snapshot = path("snapshots", one.part, ".kpcache");
	if (await exists(snapshot)) return;
	const options = { embedder: "required" } as const;
	const scorer = one.before
		? await Scorer.load(path("snapshots", one.before, ".kpcache"), options)
		: new Scorer(options);
	const logs = await logsOf(one);
	await write(path("rows", one.part, ".jsonl"), rows(scorer, logs));
	await write(path("kept", one.part, ".jsonl"), kept(scorer, logs));
	await mkdir(dirname(snapshot), { recursive: true });
	await scorer.save(snapshot, { ages: false });
	scorer.close();
}

/** What is in a folder, in order of its names. */
const namesIn = async (path: string) => (await readdir(path)).sort();

/** The parts of a project. What is made of them has their names without the ending, so these differ. */
async function partsOf(project: string) {
	const parts = new Map<string, string>();
	for (const part of await namesIn(join(folder, "logs", project))) {
		const path = join(folder, "logs", project, part);
		const name = part.replace(LOG, "");
		if (parts.has(name))
			throw new Error(`${path}: expected another name than ${parts.get(name)} without the ending`);
		if (LOG.test(part) || (await isFolder(path))) parts.set(name, part);
		else console.error(`${path}: no log`);
	}
	return [...parts.values()];
}

async function projects() {
	const found: Part[][] = [];
	for (const project of await namesIn(join(folder, "logs"))) {
		if (!(await isFolder(join(folder, "logs", project)))) continue;
		const parts = await partsOf(project);
		found.push(parts.map((part, index) => ({ project, part, before: parts[index - 1] })));
	}
	return found.flat();
}

async function send(boss: PgBoss) {
	const parts = await projects();
	await boss.createQueue(QUEUE, {
		// One part of a project after another, also when one is tried again.
		policy: "key_strict_fifo",
		// A worker that gives no sign of life for so long is dead.
		heartbeatSeconds: 10,
		expireInSeconds: 86_400,
		retentionSeconds: 90 * 86_400,
		retryLimit: 10,
		retryBackoff: true,
		retryDelayMax: 60,
	});
	for (const data of parts) await boss.send(QUEUE, data, { singletonKey: data.project });
	await boss.stop();
}

async function work(boss: PgBoss) {
	process.once("SIGTERM", () => boss.stop());
	await boss.work<Part>(QUEUE, { pollingIntervalSeconds: 0.5 }, async (jobs) => {
		for (const { data } of jobs)
			await score(data).catch((error) => {
				// The queue only counts it, until the last attempt.
				console.error(data, error);
				throw error;
			});
	});
}

const boss = new PgBoss({
	connectionString: process.env.DATABASE_URL ?? "",
	max: 3,
	superviseIntervalSeconds: 5,
	monitorIntervalSeconds: 5,
});
boss.on("error", console.error);
await boss.start();
await (command === "send" ? send : work)(boss);
