/** Decompresses input, which is detected by its first bytes. */
const { Buffer } = require("node:buffer");
const zlib = require("node:zlib");
const { ImportError } = require("./errors.js");
const { ofFrames } = require("./zstandard.js");

/** The maximum length of a decompressed piece. */
const PIECE = 2 ** 20;

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Passes pieces to an engine and yields its output. A piece is passed when the output of the previous one is complete. */
async function* through(engine, pieces, failed) {
	let error;
	function note(thrown) {
		error ??= thrown;
		engine.emit("change");
	}
	for (const event of ["error", "readable", "end"]) engine.on(event, note);
	try {
		for (let isLast = false; !isLast; ) {
			const { done, value } = await pieces.next();
			isLast = done;
			if (done) engine.end();
			else engine.write(value, note);
			for (;;) {
				const chunk = engine.read();
				if (chunk !== null) yield chunk;
				else if (error) failed(error);
				else if (done ? engine.readableEnded : engine.writableLength === 0) break;
				else await new Promise((resolve) => engine.once("change", resolve));
			}
		}
	} finally {
		engine.destroy();
	}
}

/** The pieces of the source `name`, decompressed if they begin as gzip or Zstandard data does. */
exports.decompressed = async function* decompressed(pieces, name) {
	let begin = Buffer.alloc(0);
	async function* all() {
		yield begin;
		yield* pieces;
	}
	const beginsWith = (magic) => magic.compare(begin.subarray(0, magic.length)) === 0;
	const failing = (kind) => (cause) => {
		throw new ImportError(`${name}: cannot decompress ${kind} data: ${cause.message}`, {
			code: "UNREADABLE",
			source: name,
			cause,
		});
	};
	try {
		while (begin.length < ZSTANDARD.length) {
			const { done, value } = await pieces.next();
			if (done) break;
			begin = begin.length > 0 ? Buffer.concat([begin, value]) : value;
		}
		const options = { chunkSize: PIECE };
		if (beginsWith(GZIP)) yield* through(zlib.createGunzip(options), all(), failing("gzip"));
		else if (beginsWith(ZSTANDARD)) {
			const failed = failing("Zstandard");
			const { createZstdDecompress: open } = /** @type {any} */ (zlib);
			if (open === undefined) failed(new Error("Node.js 22.15 or later is needed"));
			yield* ofFrames(all(), (frame) => through(open(options), frame, failed), failed);
		} else yield* all();
	} finally {
		await pieces.return();
	}
};
