/** Splits Zstandard data into frames (RFC 8878): Node.js reads only the first, and does not notice a missing end. */
const { Buffer } = require("node:buffer");

const MAGIC = 0xfd2fb528;

/** The lengths of fields in the header of a frame, by their bits in its descriptor. */
const DICTIONARY_ID = [0, 1, 2, 4];
const CONTENT_SIZE = [0, 2, 4, 8];

/** The type of a block that repeats one byte. */
const REPEATED = 1;

/** Yields the output of `decompress` for the pieces of each frame. `failed` throws the error for invalid data. */
exports.ofFrames = async function* ofFrames(pieces, decompress, failed) {
	let bytes = Buffer.alloc(0);
	/** The number of these bytes that belong to the frame. */
	let end = 0;

	async function hasMore() {
		while (end === bytes.length) {
			const { done, value } = await pieces.next();
			if (done) return false;
			bytes = value;
			end = 0;
		}
		return true;
	}

	/** Takes the next bytes of the frame, and copies them to `header`, if given. Yields each piece that it has used up. */
	async function* take(length, header = undefined) {
		for (let taken = 0; taken < length; ) {
			if (end === bytes.length) yield bytes;
			if (!(await hasMore())) failed(new Error("unexpected end of file"));
			const part = bytes.subarray(end, end + length - taken);
			header?.set(part, taken);
			end += part.length;
			taken += part.length;
		}
		return header;
	}

	async function* frame() {
		bytes = bytes.subarray(end);
		end = 0;
		const header = yield* take(5, Buffer.alloc(5));
		if (header.readUInt32LE(0) !== MAGIC) failed(new Error("expected a frame, got other bytes"));
		const descriptor = header[4];
		const isSegment = (descriptor & 0x20) !== 0;
		const contentSize = CONTENT_SIZE[descriptor >> 6] || Number(isSegment);
		yield* take(Number(!isSegment) + DICTIONARY_ID[descriptor & 3] + contentSize);
		for (let isLast = false; !isLast; ) {
			const block = (yield* take(3, Buffer.alloc(3))).readUIntLE(0, 3);
			isLast = (block & 1) !== 0;
			yield* take(((block >> 1) & 3) === REPEATED ? 1 : block >> 3);
		}
		const hasChecksum = (descriptor & 4) !== 0;
		yield* take(hasChecksum ? 4 : 0);
		yield bytes.subarray(0, end);
	}

	while (await hasMore()) yield* decompress(frame());
};
