/**
 * Entries on their way between the threads. One buffer has all embeddings, and is transferred:
 * copying an object for each entry would keep the caller's thread busy.
 */
const EMBEDDING_BYTES = 1536;
const KINDS = ["add", "forget", "clear"];

const embeddingAt = (bytes, place) =>
	bytes.subarray(EMBEDDING_BYTES * place, EMBEDDING_BYTES * (place + 1));

/** To the thread: entries to append, which stay the caller's. */
exports.packEntries = function packEntries(entries) {
	const bytes = new Uint8Array(EMBEDDING_BYTES * entries.length);
	const packed = entries.map(({ kind, call, id = null, embedding }, place) => {
		if (kind === "add") {
			if (embedding.length !== EMBEDDING_BYTES)
				throw new RangeError(`an embedding of ${embedding.length} bytes`);
			bytes.set(embedding, EMBEDDING_BYTES * place);
		}
		return { kind, call, id };
	});
	return { entries: packed, bytes };
};

/** In the thread. */
exports.unpackEntries = function unpackEntries({ entries, bytes }) {
	return entries.map((entry, place) => {
		const embedding = entry.kind === "add" ? embeddingAt(bytes, place) : null;
		return { ...entry, embedding };
	});
};

/** From the thread: a page. Its entries are consecutive, so the first number is enough. */
exports.packPage = function packPage({ rows, ...page }) {
	const embeddings = rows.filter(({ embedding }) => embedding !== null);
	const bytes = new Uint8Array(EMBEDDING_BYTES * embeddings.length);
	for (const [place, { embedding }] of embeddings.entries())
		bytes.set(embedding, EMBEDDING_BYTES * place);
	return {
		...page,
		start: rows[0]?.seq,
		times: Float64Array.from(rows, ({ at }) => at),
		kinds: Uint8Array.from(rows, ({ kind }) => KINDS.indexOf(kind)),
		hasEmbedding: Uint8Array.from(rows, ({ embedding }) => embedding !== null),
		calls: rows.map(({ call }) => call),
		ids: rows.map(({ id }) => id),
		bytes,
	};
};

/** Returns the `LogPage`. */
exports.unpackPage = function unpackPage(packed) {
	const { header, epoch, reset, start, calls, ids, bytes } = packed;
	let embeddings = 0;
	const entries = calls.map((call, place) => ({
		seq: BigInt(start + place),
		at: packed.times[place],
		kind: KINDS[packed.kinds[place]],
		call,
		id: ids[place],
		embedding: packed.hasEmbedding[place]
			? embeddingAt(bytes, embeddings++)
			: null,
	}));
	const [head, first] = [BigInt(packed.head), BigInt(packed.first)];
	return { header, epoch, head, first, reset, entries };
};
