/**
 * Entries on their way between the threads. One buffer has all embeddings, and is transferred:
 * copying an object for each entry would keep the caller's thread busy.
 */
const KINDS = ["add", "forget", "clear"];

/** Embeddings, or null, as one buffer and their lengths, -1 for null. */
function joined(embeddings) {
	const lengths = Int32Array.from(embeddings, (bytes) => bytes?.length ?? -1);
	const found = embeddings.filter((bytes) => bytes !== null);
	const bytes = new Uint8Array(found.reduce((sum, { length }) => sum + length, 0));
	let end = 0;
	for (const embedding of found) {
		bytes.set(embedding, end);
		end += embedding.length;
	}
	return { lengths, bytes };
}

/** Reads what {@link joined} made. */
function parted({ lengths, bytes }) {
	let end = 0;
	return Array.from(lengths, (length) => {
		if (length < 0) return null;
		end += length;
		return bytes.subarray(end - length, end);
	});
}

/** To the thread: entries to append, which stay the caller's. */
exports.packEntries = function packEntries(entries) {
	return {
		entries: entries.map(({ kind, call, id = null }) => ({ kind, call, id })),
		...joined(entries.map(({ embedding = null }) => embedding)),
	};
};

/** In the thread. */
exports.unpackEntries = function unpackEntries({ entries, ...packed }) {
	const embeddings = parted(packed);
	return entries.map((entry, i) => ({ ...entry, embedding: embeddings[i] }));
};

/** From the thread: a page. Its entries are consecutive, so the first number is enough. */
exports.packPage = function packPage({ rows, ...page }) {
	return {
		...page,
		start: rows[0]?.seq,
		times: Float64Array.from(rows, ({ at }) => at),
		kinds: Uint8Array.from(rows, ({ kind }) => KINDS.indexOf(kind)),
		calls: rows.map(({ call }) => call),
		ids: rows.map(({ id }) => id),
		...joined(rows.map(({ embedding }) => embedding)),
	};
};

/** Returns a `StorePage`. */
exports.unpackPage = function unpackPage(packed) {
	const { header, epoch, head, first, reset, start, calls, ids } = packed;
	const embeddings = parted(packed);
	const entries = calls.map((call, place) => ({
		seq: start + place,
		at: packed.times[place],
		kind: KINDS[packed.kinds[place]],
		call,
		id: ids[place],
		embedding: embeddings[place],
	}));
	return { header, epoch, head, first, reset, entries };
};
