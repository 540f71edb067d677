/** What crosses the wire, in both directions. */

const EMBEDDING_LEN = 384;
const EMBEDDING_BYTES = 4 * EMBEDDING_LEN;
const OID_VARCHAR = 1043;
/** Of an embedding, with a line break after each 76 characters. */
const LONGEST_BASE64 = 2048 + 26;
const OID_FLOAT4 = 700;

/**
 * Text of PostgreSQL has no U+0000, so it is written as U+001A and 0. An id that has neither stays as it is.
 */
function writeId(id) {
	return (
		id?.replaceAll("\u001a", "\u001a1").replaceAll("\0", "\u001a0") ?? null
	);
}

/** Reads what {@link writeId} wrote. */
function readId(id) {
	return (
		id?.replaceAll("\u001a0", "\0").replaceAll("\u001a1", "\u001a") ?? null
	);
}

/** How many embeddings share a piece of memory, which is garbage as a whole. */
const SLAB = 64;

/**
 * Returns the types of one query. Clients read values as text, so embeddings come in base64; only they are
 * of type varchar. Each is decoded as it arrives, and not a page at once.
 */
function makeTypes() {
	let slab = Buffer.alloc(0);
	let end = 0;
	function readEmbedding(text) {
		if (end + EMBEDDING_BYTES > slab.length) {
			slab = Buffer.allocUnsafeSlow(SLAB * EMBEDDING_BYTES);
			end = 0;
		}
		// A damaged one may have any length.
		if (text.length > LONGEST_BASE64) return Buffer.from(text, "base64");
		const start = end;
		end += EMBEDDING_BYTES;
		const length = slab.write(text, start, EMBEDDING_BYTES, "base64");
		return slab.subarray(start, start + length);
	}
	return {
		getTypeParser: (oid) => (oid === OID_VARCHAR ? readEmbedding : String),
	};
}

function checkEmbedding({ embedding }) {
	if (embedding.length !== EMBEDDING_BYTES)
		throw new RangeError(
			`embedding: expected ${EMBEDDING_BYTES} bytes, got ${embedding.length}`,
		);
	return embedding;
}

/** Columns of entries, and their embeddings one after the other. */
function writeEntries(entries) {
	return {
		calls: entries.map(({ call }) => call ?? null),
		kinds: entries.map(({ kind }) => kind),
		ids: entries.map(({ id }) => writeId(id)),
		embeddings: entries
			.filter(({ embedding }) => embedding)
			.map(checkEmbedding),
	};
}

/** Returns embeddings as one `real[]` in PostgreSQL's binary format. */
function writeReals(embeddings) {
	const count = embeddings.length * EMBEDDING_LEN;
	const array = Buffer.alloc(20 + 8 * count);
	let end = 0;
	// Dimensions, no nulls, type, length, index of the first element.
	for (const field of [1, 0, OID_FLOAT4, count, 1])
		end = array.writeInt32BE(field, end);
	for (const embedding of embeddings)
		for (let i = 0; i < EMBEDDING_BYTES; i += 4) {
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
		const embedding =
			length === null ? null : embeddings.subarray(end, end + length);
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
