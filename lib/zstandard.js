/** The frames of Zstandard data (RFC 8878). Node.js reads the first one only, and does not miss its end. */
const { Buffer } = require("node:buffer");

const MAGIC = 0xfd2fb528;

/** The lengths of fields in the header of a frame, by their bits in its descriptor. */
const DICTIONARY_ID = [0, 1, 2, 4];
const CONTENT_SIZE = [0, 2, 4, 8];

/** The type of a block that repeats the only byte it has. */
const REPEATED = 1;

/** Finds the end of a frame. */
class Frame {
	/** What there is of the magic number and descriptor, or of the header of a block, and its length. */
	#head = [];
	#length = 5;
	#hasBlocks = false;
	#hasChecksum = false;
	/** How many bytes follow before the next header, or before the end. */
	#left = 0;
	#isLast = false;

	get hasEnded() {
		return this.#isLast && this.#left === 0;
	}

	/** How many of the bytes that come next belong to the frame. */
	take(bytes) {
		let at = 0;
		while (at < bytes.length && !this.hasEnded) {
			if (this.#left > 0) {
				const length = Math.min(this.#left, bytes.length - at);
				this.#left -= length;
				at += length;
			} else {
				this.#head.push(bytes[at++]);
				if (this.#head.length === this.#length) this.#read(Buffer.from(this.#head));
			}
		}
		return at;
	}

	#read(head) {
		if (this.#hasBlocks) {
			const block = head.readUIntLE(0, 3);
			this.#isLast = (block & 1) !== 0;
			this.#left = ((block >> 1) & 3) === REPEATED ? 1 : block >> 3;
			if (this.#isLast && this.#hasChecksum) this.#left += 4;
		} else {
			if (head.readUInt32LE(0) !== MAGIC) throw new Error("expected a frame, got other bytes");
			const isSegment = (head[4] & 0x20) !== 0;
			const contentSize = CONTENT_SIZE[head[4] >> 6] || Number(isSegment);
			this.#left = Number(!isSegment) + DICTIONARY_ID[head[4] & 3] + contentSize;
			this.#hasChecksum = (head[4] & 4) !== 0;
			this.#hasBlocks = true;
		}
		this.#head = [];
		this.#length = 3;
	}
}

/** What `decompress` makes of the pieces of each frame. `failed` throws the error for data that is none. */
async function* ofFrames(pieces, decompress, failed) {
	let bytes = Buffer.alloc(0);
	/** Whether there are bytes that belong to no frame so far. */
	async function hasMore() {
		while (bytes.length === 0) {
			const { done, value } = await pieces.next();
			if (done) return false;
			bytes = value;
		}
		return true;
	}
	async function* piecesOfFrame() {
		const frame = new Frame();
		while (!frame.hasEnded) {
			if (!(await hasMore())) failed(new Error("unexpected end of file"));
			let length;
			try {
				length = frame.take(bytes);
			} catch (error) {
				failed(error);
			}
			const piece = bytes.subarray(0, length);
			bytes = bytes.subarray(length);
			yield piece;
		}
	}
	while (await hasMore()) yield* decompress(piecesOfFrame());
}

module.exports = { ofFrames };
