/** Packs entries as JSON and contiguous embeddings. Separate ones would take time on the caller's thread. */

/** The bytes are copies, and can be transferred. */
exports.pack = function pack(entries) {
	const embeddings = entries.map(({ embedding }) => embedding ?? []);
	const bytes = new Uint8Array(embeddings.reduce((sum, { length }) => sum + length, 0));
	let end = 0;
	for (const embedding of embeddings) {
		bytes.set(embedding, end);
		end += embedding.length;
	}
	const rows = entries.map((e) => [e.seq, e.at, e.kind, e.call, e.id, e.embedding?.length]);
	return { json: JSON.stringify(rows), bytes };
};

exports.unpack = function unpack(json, bytes) {
	let end = 0;
	return JSON.parse(json).map(([seq, at, kind, call, id, length]) => {
		const embedding = length === null ? null : bytes.subarray(end, end + length);
		end += length ?? 0;
		return { seq, at, kind, call, id, embedding };
	});
};
