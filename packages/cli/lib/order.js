/** The order in which all commands take their sources. */
const { importTraces } = require("./engine.js");
const { ascending, sourcesOf } = require("./sources.js");

/** Time of the first trace of a source; infinite if it has none. */
async function firstTime(source, options) {
	if (source.isStream) return Number.POSITIVE_INFINITY;
	for await (const { trace } of importTraces([source], options)) {
		if (!trace) continue;
		const time = Date.parse(trace.metadata.created_at ?? "");
		return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
	}
	return Number.POSITIVE_INFINITY;
}

/**
 * Sorts sources by the time of their first trace; streams and sources without a time come last. Reads each
 * source up to its first trace.
 * @param options Those of `importTraces`.
 */
async function inOrder(sources, options, { signal }) {
	if (sources.length < 2) return sources;
	const times = new Map();
	try {
		for (const source of sources)
			times.set(source, await firstTime(source, { ...options, signal }));
	} catch (error) {
		if (!signal.aborted) throw error;
	}
	return [...sources].sort((a, b) => ascending(times.get(a), times.get(b)));
}

/** Returns the sources that arguments name, sorted. */
const sourcesInOrder = async (args, options, stop) => inOrder(await sourcesOf(args), options, stop);

module.exports = { inOrder, sourcesInOrder };
