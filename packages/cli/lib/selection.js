/** Reads runs once, and selects the fewest that stand for all. */
const { textAt } = require("@knowledgepulse/scoring/internal/select");
const { importTraces } = require("./engine.js");
const { InputError } = require("./exit.js");
const { groupOf, nameOf } = require("./facts.js");
const { sourcesOf } = require("./sources.js");
const { count, grouped, showProgress, warn } = require("./terminal.js");
const { traceOf } = require("./written.js");

/** The number of characters of the objective in a row, as in those of `evaluateLogs`. */
const OBJECTIVE = 120;

function rowOf({ trace, provenance }) {
	const { id = null, metadata, outcome, steps, task } = trace;
	const { confidenceFrom, facts, key, source, successFrom } = provenance;
	return {
		source,
		id,
		key,
		domain: metadata.task_domain,
		createdAt: metadata.created_at ?? "",
		success: metadata.success,
		successFrom,
		confidence: outcome.confidence,
		confidenceFrom,
		objective: [...task.objective.slice(0, 2 * OBJECTIVE)].slice(0, OBJECTIVE).join(""),
		steps: steps.length,
		...(facts && { facts }),
		...(metadata.stands_for && { standsFor: metadata.stands_for }),
	};
}

function scored(row, { coverage, standsFor, report }) {
	const { score, dimensions, overrides, novelty } = report;
	return {
		...row,
		coverage,
		standsFor,
		score,
		dimensions,
		overrides: overrides.map(({ name }) => name),
		nearest: novelty.nearest,
		similarity: novelty.maxSimilarity,
		noveltySource: novelty.source,
	};
}

/** Returns the function that gives the group of a run: at a pointer, in a column of the labels, or its project. */
function grouping({ labels, options: { group } }) {
	if (group === undefined) return (_, row) => groupOf(row);
	if (group.startsWith("/")) return (trace) => textAt(trace, group);
	if (labels?.has(group)) return (_, row) => labels.columnOf(row, group);
	throw new InputError(`--group ${group}: expected a JSON pointer, or a column of --labels`);
}

/** The runs that were kept earlier: the ids of rows, of which some may be `missing` among the sources, and traces. */
async function keptEarlier(job) {
	const { against } = job.options;
	const { contentOf } = require("./rows.js");
	const ids = new Set();
	const logs = [];
	for (const source of against ? await sourcesOf([against]) : []) {
		const { rows, log } = await contentOf(source, job.signal);
		if (log) logs.push(log);
		else for await (const [{ id }] of rows) ids.add(id);
	}
	// None of the options of the sources is for these.
	const options = { assumeSuccess: "true" };
	return {
		ids,
		missing: new Set(ids),
		traces: () => importTraces({ options, signal: job.signal, sources: logs }),
	};
}

/** Reads the runs of a job once, and selects among them. */
class Selection {
	/** The rows of the candidates, and the places of the runs in the spool. */
	rows = [];
	#places = [];
	/** The runs that are no candidates: `{ row, reason }`. */
	left = [];
	#ids = new Set();
	/** Traces of the sources that were kept earlier. */
	#again = [];

	constructor(job, { spool, earlier }) {
		this.job = job;
		this.spool = spool;
		this.groupOf = grouping(job);
		this.earlier = earlier;
	}

	/** Why a run is no candidate, if it is none. */
	#reasonAgainst({ id, success, successFrom }) {
		if (id !== null && this.#ids.has(id)) return "repeated: an earlier run has its id";
		this.#ids.add(id);
		if (id !== null && this.earlier.ids.has(id)) return "kept earlier";
		if (!this.job.options.success) return undefined;
		if (successFrom === "assumed") return "success unknown";
		return success ? undefined : "failed";
	}

	async #take(item, traces) {
		const row = rowOf(item);
		const trace = traceOf(item);
		this.earlier.missing.delete(row.id);
		const isConsidered = this.job.choice.has(row);
		if (!isConsidered && this.earlier.ids.has(row.id)) this.#again.push(trace);
		if (!isConsidered) return;
		const reason = this.#reasonAgainst(row);
		if (reason) this.left.push({ row, reason });
		if (reason === "kept earlier") this.#again.push(trace);
		if (reason) return;
		this.#places.push(await this.spool?.add(item));
		this.rows.push({ ...row, group: this.groupOf(trace, row) ?? null });
		await traces.write(trace);
	}

	async *#against() {
		for await (const { trace } of this.earlier.traces()) if (trace) yield trace;
		yield* this.#again;
	}

	/** Resolves to the remarks on the sources, and the kept runs. */
	async choose(scorer) {
		const { options, signal } = this.job;
		const { count: most, coverage, memory, perGroup, against } = options;
		const { readable, writable } = new TransformStream();
		const traces = writable.getWriter();
		const group = perGroup && ((_, index) => this.rows[index].group);
		let progress;
		const onProgress = (state) => {
			progress = state;
		};
		const selecting = scorer.select(readable, {
			...{ count: most, coverage, perGroup, group, onProgress, signal },
			againstCache: memory !== undefined,
			against: against === undefined ? undefined : this.#against(),
		});
		let failure;
		selecting.catch((error) => {
			failure = { error };
			return traces.abort(error).catch(() => {});
		});
		const take = (item) =>
			this.#take(item, traces).catch((error) => {
				if (!failure) throw error;
				return false;
			});
		const settings = { isNeeded: true, isShown: true, saysErrors: true };
		const remarks = await this.job.each(importTraces(this.job), take, settings);
		const missing = this.earlier.missing.size;
		if (missing > 0)
			warn(
				`${count(missing, "row")} of ${against} without a run in the sources: not compared with`,
			);
		await traces.close().catch(() => {});
		// All are compared with all, and then chosen.
		const stopProgress = showProgress(options.progress && !options.quiet, () => ({
			traces: progress?.done ?? 0,
			share: progress?.total && progress.done / progress.total,
		}));
		const kept = await selecting
			.catch((error) => {
				if (error !== signal.reason) throw error;
				return [];
			})
			.finally(stopProgress);
		return { remarks, kept };
	}

	/** Warns if most runs repeat an objective, many were run once, and the kept ones have fewer objectives than they could. */
	warnOfRare(kept) {
		const sizes = new Map();
		for (const { objective } of this.rows) sizes.set(objective, (sizes.get(objective) ?? 0) + 1);
		const all = [...sizes.values()];
		const most = all.reduce((a, b) => Math.max(a, b), 0);
		const once = all.filter((size) => size === 1).length;
		const isUneven = most > 3 && 4 * once >= all.length && 2 * once <= this.rows.length;
		const found = new Set(kept.map(({ index }) => this.rows[index].objective)).size;
		const isRare = isUneven && found < Math.min(kept.length, all.length);
		if (isRare && !this.job.options.perGroup)
			warn(
				`the kept runs have ${found} of ${count(all.length, "objective")}, of which ${grouped(once)} were run once and others up to ${grouped(most)} times: --per-group 1 --group /task/objective keeps one of each`,
			);
	}

	/** Resolves to what was read of a run. */
	itemOf = ({ index }) => this.spool.get(this.#places[index]);

	/** The runs that were not kept: `{ row, reason, by, similarity }`, where `by` is the id or the place of the run that stands for it. */
	dropped(kept) {
		const { against, memory } = this.job.options;
		const rest = new Map(this.rows.entries());
		const stood = [];
		for (const { index } of kept) rest.delete(index);
		for (const { index: place, members } of kept) {
			const by = nameOf(this.rows[place]);
			for (const { index, similarity } of members) {
				const row = rest.get(index);
				rest.delete(index);
				if (row) stood.push({ row, reason: "another run stands for it", by, similarity });
			}
		}
		const isEarlier = against !== undefined || memory !== undefined;
		const reason = isEarlier ? "a run kept earlier stands for it" : "like no kept run";
		return {
			stood,
			others: [...Array.from(rest.values(), (row) => ({ row, reason })), ...this.left],
		};
	}
}

module.exports = { Selection, grouping, keptEarlier, rowOf, scored };
