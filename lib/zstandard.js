/**
 * Splits Zstandard data into frames (RFC 8878), because Node.js reads only the first one and does
 * not notice a missing end.
 */
const { Buffer } = require("node:buffer");

const MAGIC = 0xfd2fb528;

/** The lengths of fields in the header of a frame, by their bits in its descriptor. */
const DICTIONARY_ID = [0, 1, 2, 4];
const CONTENT_SIZE = [0, 2, 4, 8];

/** The type of a block that repeats one byte. */
const REPEATED = 1;

/** Yields the output of `decompress` for the pieces of each frame. `failed` throws the error for invalid data. */
async function* ofFrames(pieces, decompress, failed) {
	let bytes = Buffer.alloc(0);
	/** The number of these bytes that belong to the frame. */
	let end = 0;

	/** Whether there are further bytes. */
	async function hasMore() {
		while (end === bytes.length) {
			const { done, value } = await pieces.next();
			if (done) return false;
			bytes = value;
			end = 0;
		}
		return true;
	}

	/** Takes the next bytes of the frame. Yields a piece when it has too few. */
	async function* take(length) {
		for (let left = length; left > 0; ) {
			if (end === bytes.length) yield bytes;
			if (!(await hasMore())) failed(new Error("unexpected end of file"));
			const taken = Math.min(left, bytes.length - end);
			end += taken;
			left -= taken;
		}
	}

	/** Takes a header, which may be split among pieces. */
	async function* takeHeader(length) {
		const header = Buffer.alloc(length);
		for (let at = 0; at < length; at++) {
			yield* take(1);
			header[at] = bytes[end - 1];
		}
		return header;
	}

	async function* frame() {
		bytes = bytes.subarray(end);
		end = 0;
		const header = yield* takeHeader(5);
		if (header.readUInt32LE(0) !== MAGIC) failed(new Error("expected a frame, got other bytes"));
		const descriptor = header[4];
		const isSegment = (descriptor & 0x20) !== 0;
		const contentSize = CONTENT_SIZE[descriptor >> 6] || Number(isSegment);
		yield* take(Number(!isSegment) + DICTIONARY_ID[descriptor & 3] + contentSize);
		for (let isLast = false; !isLast; ) {
			const block = (yield* takeHeader(3)).readUIntLE(0, 3);
			isLast = (block & 1) !== 0;
			yield* take(((block >> 1) & 3) === REPEATED ? 1 : block >> 3);
		}
		const hasChecksum = (descriptor & 4) !== 0;
		yield* take(hasChecksum ? 4 : 0);
		yield bytes.subarray(0, end);
	}

	while (await hasMore()) yield* decompress(frame());
}

module.exports = { ofFrames };
