/** A log in memory that compares by itself. */
import { MemoryLog } from "./memory-log.mjs";

const numbers = (embedding) => new Float32Array(Uint8Array.from(embedding).buffer);

function cosine(one, other) {
	const [a, b] = [numbers(one), numbers(other)];
	return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

/** Its `compare` is atomic as well: it waits once, for what has been done already. */
export class ComparingLog extends MemoryLog {
	async compare(entries, { header, signal, keepFrom }) {
		const log = this.find({ header, signal });
		for (const name of Object.keys(log.header))
			if (log.header[name] !== header[name])
				throw Object.assign(new Error(name), { code: "STORE_MISMATCH" });
		const call = { header, signal, keepFrom, after: null, limit: 0 };
		return entries.map((entry) => {
			const known = log.entries.find((it) => it.call === entry.call);
			const end = known?.seq ?? log.head + 1n;
			const live = log.entries
				.filter(({ seq, embedding }) => embedding && seq < end)
				.slice(-header.maxElements);
			// Done when it returns.
			if (entry.kind !== "peek") this.append([entry], call);
			if (entry.kind === "forget") {
				const removed = live.filter(({ id }) => id === entry.id).length;
				return { seq: end, maxSimilarity: null, nearest: null, removed };
			}
			return { seq: end, ...this.nearest(live, entry) };
		});
	}

	nearest(live, { kind, embedding }) {
		let best = { maxSimilarity: null, nearest: null };
		if (kind === "clear") return best;
		for (const { id, embedding: other } of live) {
			const similarity = cosine(embedding, other);
			if (best.maxSimilarity === null || similarity > best.maxSimilarity)
				best = { maxSimilarity: similarity, nearest: id };
		}
		return best;
	}
}
