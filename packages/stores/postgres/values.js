/** What crosses the wire, in both directions. */

const OID_VARCHAR = 1043;
const OID_FLOAT4 = 700;

/**
 * Text of PostgreSQL has no U+0000, so it is written as U+001A and 0. An id that has neither stays as it is.
 */
function writeId(id) {
	return id?.replaceAll("\u001a", "\u001a1").replaceAll("\0", "\u001a0") ?? null;
}

/** Reads what {@link writeId} wrote. */
function readId(id) {
	return id?.replaceAll("\u001a0", "\0").replaceAll("\u001a1", "\u001a") ?? null;
}

/** Memory for many embeddings, which is garbage as a whole. */
const SLAB_BYTES = 96 << 10;

/**
 * Returns the types of one query. Clients read values as text, so embeddings come in base64; only they are
 * of type varchar. Each is decoded as it arrives, and not a page at once.
 */
function makeTypes() {
	let slab = Buffer.alloc(0);
	let end = 0;
	function readEmbedding(text) {
		// With its line breaks it seems to be somewhat longer.
		const most = Buffer.byteLength(text, "base64");
		if (end + most > slab.length) {
			slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, most));
			end = 0;
		}
		const start = end;
		end += slab.write(text, start, "base64");
		return slab.subarray(start, end);
	}
	return {
		getTypeParser: (oid) => (oid === OID_VARCHAR ? readEmbedding : String),
	};
}

/** Columns of entries, and their embeddings one after the other, which share one length. */
function writeEntries(entries) {
	const embeddings = entries.map(({ embedding }) => embedding).filter(Boolean);
	if (new Set(embeddings.map(({ length }) => length)).size > 1)
		throw new RangeError("embeddings of different lengths");
	return {
		calls: entries.map(({ call }) => call ?? null),
		kinds: entries.map(({ kind }) => kind),
		ids: entries.map(({ id }) => writeId(id)),
		embeddings,
	};
}

/** Returns embeddings as one `real[]` in PostgreSQL's binary format. */
function writeReals(embeddings) {
	const count = embeddings.reduce((sum, { length }) => sum + length / 4, 0);
	const array = Buffer.alloc(20 + 8 * count);
	let end = 0;
	// Dimensions, no nulls, type, length, index of the first element.
	for (const field of [1, 0, OID_FLOAT4, count, 1]) end = array.writeInt32BE(field, end);
	for (const embedding of embeddings)
		for (let i = 0; i < embedding.length; i += 4) {
			end = array.writeInt32BE(4, end);
			for (let byte = 3; byte >= 0; byte--) array[end++] = embedding[i + byte];
		}
	return array;
}

function readEntry([seq, at, kind, call, id, embedding]) {
	return {
		seq: BigInt(seq),
		at: Number(at),
		kind,
		call,
		id: readId(id),
		embedding,
	};
}

function describe(text) {
	const { epoch, head, first, reset, compare, ...header } = JSON.parse(text);
	const range = { head: BigInt(head), first: BigInt(first) };
	return { compare, page: { header, epoch, ...range, reset } };
}

/** Reads the rows of a page, of which the first describes the others. */
function readPage([first, ...rows]) {
	const { compare, page } = describe(first[4]);
	return { compare, page: { ...page, entries: rows.map(readEntry) } };
}

/** Reads the rows of a page in which a row has several entries. */
function readGroups([[description], ...groups]) {
	const { compare, page } = describe(description);
	return { compare, page: { ...page, entries: groups.flatMap(readGroup) } };
}

function readGroup([, rows, embeddings]) {
	let end = 0;
	return JSON.parse(rows).map(([seq, at, kind, call, id, length]) => {
		const embedding = length === null ? null : embeddings.subarray(end, end + length);
		end += length ?? 0;
		return readEntry([seq, at, kind, call, id, embedding]);
	});
}

function readComparison([seq, similarity, nearest, removed]) {
	return {
		seq: BigInt(seq),
		maxSimilarity: similarity === null ? null : Number(similarity),
		nearest: readId(nearest),
		...(removed !== null && { removed: Number(removed) }),
	};
}

module.exports = {
	...{ makeTypes, readComparison, readGroups, readPage },
	...{ writeEntries, writeReals },
};
