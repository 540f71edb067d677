import assert from "node:assert/strict";
import { File } from "node:buffer";
import { createReadStream, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { importTraces } from "@knowledgepulse/scoring/logs";
import {
	all,
	assumed,
	chunked,
	conversation,
	importErrorOf,
	lines,
	summary,
	summaryOf,
} from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const log = lines("one", "two é 😀", "three");
const bytes = Buffer.from(log);
const objectives = ["one", "two é 😀", "three"];

/** A file with the log, for the test `t`. */
function file(t) {
	const path = join(temporaryFolder(t), "log é.jsonl");
	writeFileSync(path, log);
	return path;
}

/** A view of these bytes that does not begin where its buffer begins. */
const view = new Uint8Array([...Buffer.from("xx"), ...bytes]).subarray(2);

const sources = {
	path: (t) => file(t),
	"relative path": (t) => relative(process.cwd(), file(t)),
	"file: URL": (t) => pathToFileURL(file(t)),
	"file: URL of another realm": (t) => {
		const { href, protocol, hostname, pathname } = pathToFileURL(file(t));
		return { href, protocol, hostname, pathname };
	},
	text: () => log,
	"text after white space": () => `\ufeff \t\r\n${log}`,
	bytes: () => bytes,
	"a view of bytes": () => view,
	"bytes of another realm": () => runInNewContext("Uint8Array.from(bytes)", { bytes: [...bytes] }),
	"a stream of a file": (t) => createReadStream(file(t), { highWaterMark: 5 }),
	"a stream of text": (t) => createReadStream(file(t), "utf8"),
	"a web stream": () => new Blob([bytes]).stream(),
	"a Blob": () => new Blob([bytes]),
	"a Response": () => new Response(bytes),
	"an ArrayBuffer": () => Uint8Array.from(bytes).buffer,
	"a named Blob": () => ({ name: "mine", data: new Blob([bytes]) }),
	"a web stream of text": () => new Blob([bytes]).stream().pipeThrough(new TextDecoderStream()),
	"a generator of bytes": () => chunked([...bytes].map((byte) => Buffer.of(byte))),
	// Each half of a character on its own.
	"a generator of text": () => chunked(log.split("")),
	"a generator of both": () => chunked([log.slice(0, 9), bytes.subarray(9)]),
	"compressed bytes": () => new Uint8Array(gzipSync(log)),
	"a compressed stream": () => chunked([...gzipSync(log)].map((byte) => Buffer.of(byte))),
	"named text": () => ({ name: "mine", data: log }),
	"named bytes": () => ({ name: "mine", data: bytes }),
	"a named stream": () => ({ name: "mine", data: Readable.from([bytes]) }),
	"named objects": () => ({
		name: "mine",
		data: objectives.map((text) => ({ messages: conversation(text) })),
	}),
};

for (const [kind, source] of Object.entries(sources)) {
	test(`importTraces reads ${kind}, alone, in an array and among others`, async (t) => {
		const alone = await all(importTraces(source(t), assumed));
		assert.deepEqual(summary(alone), objectives);
		assert.deepEqual(await summaryOf(importTraces([source(t)], assumed)), objectives);
		const among = [lines("first"), source(t), source(t), lines("last")];
		assert.deepEqual(await summaryOf(importTraces(among, assumed)), [
			"first",
			...objectives,
			...objectives,
			"last",
		]);
	});
}

test("importTraces takes an array of objects for one conversation", async () => {
	const messages = conversation("one");
	const imports = {
		one: importTraces(messages, assumed),
		"one in an array": importTraces([messages], assumed),
		"one by name": importTraces([{ name: "n", data: messages }], assumed),
		"one object": importTraces({ name: "n", data: { messages } }, assumed),
	};
	for (const [name, imported] of Object.entries(imports))
		assert.deepEqual(await summaryOf(imported), ["one"], name);
	const two = importTraces([messages, conversation("two")], assumed);
	assert.deepEqual(await summaryOf(two), ["one", "two"]);
});

test("importTraces takes messages that are instances of classes, or have toJSON()", async () => {
	class Message {
		#text;
		constructor(role, text) {
			this.role = role;
			this.#text = text;
		}
		toJSON() {
			return { role: this.role, content: this.#text };
		}
	}
	const messages = [new Message("user", "one"), new Message("assistant", "a")];
	assert.deepEqual(await summaryOf(importTraces(messages, assumed)), ["one"]);
});

test("importTraces writes bytes in messages as base64", async () => {
	const image = Buffer.alloc(3, 255);
	const input = { a: new Uint8Array(image), b: image };
	const messages = conversation("one", [{ type: "tool-call", toolName: "x", input }]);
	const [{ trace }] = await all(importTraces(messages, assumed));
	assert.deepEqual(trace.steps[0].input, {
		a: "////",
		b: { type: "Buffer", data: [255, 255, 255] },
	});
});

test("importTraces gives nothing for no sources", async () => {
	const imported = importTraces([]);
	assert.deepEqual(await all(imported), []);
	assert.deepEqual(imported.report, { inputs: [] });
});

test("importTraces names sources", async (t) => {
	const path = file(t);
	const relativePath = relative(process.cwd(), path);
	const imported = importTraces(
		[
			path,
			relativePath,
			pathToFileURL(path),
			log,
			bytes,
			Readable.from([bytes]),
			conversation("one"),
			{ name: "mine", data: log },
			new File([bytes], "upload.jsonl"),
		],
		assumed,
	);
	const places = [3, 4, 5, 6].map((place) => `sources[${place}]`);
	const names = [path, relativePath, path, ...places, "mine", "upload.jsonl"];
	const items = await all(imported);
	const found = new Set(items.map(({ provenance }) => provenance.source.name));
	assert.deepEqual([...found], [...new Set(names)]);
	const { inputs } = imported.report;
	assert.deepEqual(
		inputs.map(({ name }) => name),
		names,
	);
	for (const source of [log, [log], bytes, conversation("one"), [bytes]]) {
		const [{ provenance }] = await all(importTraces(source, assumed));
		assert.equal(provenance.source.name, "source");
	}
});

test("importTraces treats a string that does not begin like JSON as a path", async () => {
	for (const path of ["nowhere.jsonl", "", "2026-01-01 INFO started"])
		await assert.rejects(importTraces(path).next(), { code: "ENOENT" });
	const named = importTraces({ name: "mine", data: "nowhere.jsonl" });
	assert.equal((await importErrorOf(named.next())).code, "INVALID_JSON");
});

test("importTraces finds files by the working directory at the call", async (t) => {
	const path = file(t);
	const before = process.cwd();
	t.after(() => process.chdir(before));
	process.chdir(join(path, ".."));
	const imported = importTraces(basename(path), assumed);
	process.chdir(before);
	assert.equal((await all(imported)).length, 3);
});

test("importTraces refuses values that are not sources", () => {
	const wrong = {
		source: [
			...[undefined, null, 5, 1n, Symbol("s"), () => {}, {}, new Map()],
			new URL("https://example.org/log"),
		],
		"source.name": [{ data: log }, { name: 5, data: log }],
		"source.data": [undefined, 5, new URL("file:///a")].map((data) => ({ name: "n", data })),
		"sources[1]": [
			[log, 5],
			[log, conversation("a")[0]],
		],
	};
	for (const [path, values] of Object.entries(wrong))
		for (const value of values)
			assert.throws(() => importTraces(value), {
				name: "ScoringError",
				code: "INVALID_OPTION",
				path,
			});
});

test("importTraces refuses messages that JSON cannot express, and names them", async () => {
	const cycle = {};
	cycle.self = cycle;
	for (const odd of [10n, cycle]) {
		const messages = [{ role: "user", content: "one", odd }];
		const error = await importErrorOf(importTraces(messages).next());
		assert.deepEqual([error.code, error.path], ["INVALID_OPTION", "source"]);
		assert.ok(error.cause instanceof TypeError);
		const named = { name: "mine", data: messages };
		const imported = importTraces([log, named, log], { ...assumed, errors: "collect" });
		const items = await all(imported);
		assert.deepEqual(summary(items), [...objectives, "INVALID_OPTION", ...objectives]);
		assert.equal(items[3].error.source, "mine");
		assert.equal(items[3].error.path, "sources[1]");
		const { inputs } = imported.report;
		assert.deepEqual(
			inputs.map(({ name, traces, errors }) => [name, traces, errors.length]),
			[
				["sources[0]", 3, 0],
				["mine", 0, 1],
				["sources[2]", 3, 0],
			],
		);
	}
	await importErrorOf(importTraces({ name: "n", data: { toJSON() {} } }).next());
});

test("importTraces refuses chunks that are neither text nor bytes", async () => {
	for (const chunk of [5, null, {}, new Uint16Array(1)]) {
		const stream = chunked([lines("one"), chunk, lines("two")]);
		const imported = importTraces(stream, { ...assumed, errors: "collect" });
		assert.deepEqual(await summaryOf(imported), ["one", "INVALID_OPTION"]);
		assert.ok(stream.state.isClosed);
	}
});
