import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import zlib from "node:zlib";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { all, assumed, chunked, importErrorOf, lines, summaryOf } from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

/** A frame of Zstandard data with a window of 1 KiB, whose blocks have the text as it is. */
function zstd(text) {
	const bytes = Buffer.from(text);
	const parts = [Buffer.from("28b52ffd0000", "hex")];
	for (let at = 0; ; at += 1024) {
		const block = bytes.subarray(at, at + 1024);
		const isLast = at + 1024 >= bytes.length;
		const header = Buffer.alloc(3);
		header.writeUIntLE((block.length << 3) | Number(isLast), 0, 3);
		parts.push(header, block);
		if (isLast) return Buffer.concat(parts);
	}
}

const kinds = {
	gzip: zlib.gzipSync,
	Zstandard: zstd,
};

/** Text that hardly compresses. */
const long = () => randomBytes(5000).toString("hex");
const objectives = [long(), "two é 😀", long(), "four"];
const log = lines(...objectives);

const read = (data) => importTraces({ name: "mine", data }, assumed);

for (const [kind, compress] of Object.entries(kinds)) {
	test(`importTraces decompresses ${kind} from every source`, async (t) => {
		const archive = compress(log);
		const path = join(temporaryFolder(t), "log");
		writeFileSync(path, archive);
		const sources = {
			path,
			bytes: new Uint8Array(archive),
			"a stream of a file": createReadStream(path, { highWaterMark: 1009 }),
			"a web stream": new Blob([archive]).stream(),
			"a generator of bytes": chunked([...archive].map((byte) => Buffer.of(byte))),
			"named bytes": { name: "mine", data: archive },
			"several archives": Readable.from(objectives.map((text) => compress(lines(text)))),
		};
		for (const [name, source] of Object.entries(sources)) {
			const imported = importTraces(source, assumed);
			assert.deepEqual(await summaryOf(imported), objectives, name);
			assert.equal(imported.report.inputs[0].bytes, Buffer.byteLength(log), name);
		}
	});

	test(`importTraces reads ${kind} no further than is asked for`, async () => {
		const texts = Array.from({ length: 200 }, long);
		const archive = compress(lines(...texts));
		const size = 64 * 1024;
		const pieces = [];
		for (let at = 0; at < archive.length; at += size) pieces.push(archive.subarray(at, at + size));
		assert.ok(pieces.length > 12);
		const source = chunked(pieces);
		const imported = read(source);
		const { value } = await imported.next();
		assert.equal(value.trace.task.objective, texts[0]);
		await imported.return();
		assert.ok(source.state.isClosed);
		assert.ok(source.state.read < pieces.length / 2, `${source.state.read} of ${pieces.length}`);
	});

	test(`importTraces rejects ${kind} that is cut or damaged`, async () => {
		const archive = compress(log);
		for (const length of [5, 30, archive.length >> 1, archive.length - 5, archive.length - 1]) {
			const cut = archive.subarray(0, length);
			const error = await importErrorOf(all(read(cut)));
			assert.deepEqual([error.code, error.source], ["UNREADABLE", "mine"], `${length}`);
			assert.match(
				error.message,
				new RegExp(`^mine:${error.line}: cannot decompress ${kind} data: unexpected end`),
			);
			// Earlier traces remain valid, and the next source is read.
			const sources = [{ name: "mine", data: cut }, lines("next")];
			const found = await summaryOf(importTraces(sources, { ...assumed, errors: "collect" }));
			const known = found.filter((item) => objectives.includes(item));
			assert.deepEqual(known, objectives.slice(0, known.length));
			assert.ok(found.includes("UNREADABLE"));
			assert.equal(found.at(-1), "next");
		}
		const { length } = archive;
		const others = [
			Buffer.concat([archive, Buffer.from("something else")]),
			Buffer.concat([archive.subarray(0, 4), Buffer.alloc(length - 4, 0xff)]),
		];
		for (const damaged of others) {
			const error = await importErrorOf(all(read(damaged)));
			assert.equal(error.code, "UNREADABLE", error.message);
		}
	});

	test(`importTraces passes on the error of a stream of ${kind}`, async () => {
		const failure = new Error("out of reach");
		async function* failing() {
			yield compress(log).subarray(0, 100);
			throw failure;
		}
		await assert.rejects(all(read(failing())), failure);
	});
}

test("importTraces reads input that is too short for an archive", async () => {
	for (const bytes of ["1f", "1f8b", "28b52f", "28b52ffd", ""]) {
		const error = await importErrorOf(all(read(Buffer.from(bytes, "hex"))));
		const expected = /^(1f8b|28b52ffd)$/.test(bytes)
			? "UNREADABLE"
			: /^(INVALID_JSON|INVALID_UTF8|UNKNOWN_FORMAT)$/;
		assert.match(error.code, new RegExp(expected), bytes);
	}
});
