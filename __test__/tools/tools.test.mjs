import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { once } from "../../tools/lib/cache.mjs";
import { capture, root } from "../../tools/lib/run.mjs";
import { RUST_SIDE } from "../../tools/lib/unchanged.mjs";
import { linkFlags } from "../../tools/package/build.mjs";
import { checkImports } from "../../tools/package/check.mjs";
import { importsOf } from "../../tools/package/imports.mjs";
import { PLATFORMS } from "../../tools/package/platforms.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const numbers = (...values) => Buffer.from(new Uint32Array(values).buffer);

/** A Windows library with one section, which is at 0x1000 in memory and 512 in the file. */
function windowsLibrary(imports, delayed) {
	const file = Buffer.alloc(2048);
	file.write("MZ");
	file.writeUInt32LE(64, 0x3c);
	file.write("PE\0\0", 64);
	file.writeUInt16LE(1, 64 + 6);
	file.writeUInt16LE(240, 64 + 20);
	numbers(2048, 0x1000, 1536, 512).copy(file, 64 + 24 + 240 + 8);
	let end = 1024;
	const put = (name) => {
		const at = end;
		end += file.write(`${name}\0`, at);
		return at + 0x1000 - 512;
	};
	const tables = [
		[1, 512, 20, 12, imports],
		[13, 768, 32, 4, delayed],
	];
	for (const [directory, table, size, field, names] of tables) {
		file.writeUInt32LE(table + 0x1000 - 512, 64 + 24 + 112 + directory * 8);
		for (const [index, name] of names.entries())
			file.writeUInt32LE(put(name), table + index * size + field);
	}
	return file;
}

/** A library of macOS with an install name, needed libraries, and the oldest system that takes it. */
function macLibrary(name, libraries, [major, minor]) {
	const named = (command, text) => {
		const size = 24 + Math.ceil((text.length + 1) / 8) * 8;
		const bytes = Buffer.alloc(size);
		numbers(command, size, 24).copy(bytes);
		bytes.write(text, 24);
		return bytes;
	};
	const commands = [
		named(0x0d, name),
		...libraries.map((library) => named(0x0c, library)),
		numbers(0x32, 24, 1, (major << 16) | (minor << 8), 0, 0),
	];
	const size = Buffer.concat(commands).length;
	const header = numbers(0xfeedfacf, 0x0100000c, 0, 6, commands.length, size, 0, 0);
	return Buffer.concat([header, ...commands]);
}

test("importsOf names a file that is not a library", () => {
	assert.throws(() => importsOf(Buffer.from("text")), /expected a library of macOS.*74657874/);
});

test("checkImports refuses a C runtime that Windows does not have", () => {
	const late = ["api-ms-win-core-x-l1-1-0.dll", "MSVCP140.dll"];
	const file = windowsLibrary(["KERNEL32.dll", "VCRUNTIME140.dll"], late);
	assert.deepEqual(checkImports("scoring.win32-x64-msvc.node", "win32", file), [
		"scoring.win32-x64-msvc.node: needs VCRUNTIME140.dll, which not every system has",
		"scoring.win32-x64-msvc.node: needs MSVCP140.dll, which not every system has",
	]);
});

test("checkImports refuses libraries beside those of macOS, other names and newer systems", () => {
	const file = "libown.dylib";
	const right = macLibrary(`@rpath/${file}`, ["/usr/lib/libc++.1.dylib"], [13, 4]);
	assert.deepEqual(checkImports(file, "darwin", right), []);
	const wrong = macLibrary("@rpath/libother.dylib", ["/opt/lib/libz.dylib"], [14, 0]);
	assert.deepEqual(checkImports(file, "darwin", wrong), [
		`${file}: needs /opt/lib/libz.dylib, which not every system has`,
		`${file}: expected the install name @rpath/${file}, found @rpath/libother.dylib`,
		`${file}: wants macOS 14.0, expected at most 13.4`,
	]);
});

test("THIRD-PARTY-NOTICES.md names the crates in the addons of all platforms, and no others", () => {
	const targets = Object.values(PLATFORMS).flatMap((triple) => ["--target", triple]);
	const options = "--package knowledgepulse-scoring-addon --edges normal --prefix none --locked";
	const tree = capture("cargo", ["tree", ...options.split(" "), ...targets]);
	// The crates of this repository are followed by their folder.
	const crates = tree.matchAll(/^(\S+) v(\S+)(?: \(proc-macro\))?(?: \(\*\))?$/gm);
	const linked = new Set(Array.from(crates, ([, name, version]) => `${name} ${version}`));
	assert.ok(linked.size > 50);
	const notices = readFileSync(join(root, "npm/THIRD-PARTY-NOTICES.md"), "utf8");
	const lists = [...notices.matchAll(/^Used by (.*)$/gm)].flatMap(([, list]) => list.split(", "));
	assert.deepEqual([...new Set(lists)].sort(), [...linked].sort());
});

test("version.mjs leaves the old version in no file", {
	skip: process.platform === "win32",
}, (t) => {
	const folder = temporaryFolder(t);
	const listed = spawnSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).stdout.split("\n");
	// The others have the version in passing, as an example, or from the programs that are replaced here.
	const files = listed.filter(
		(name) =>
			/\.(json|mjs|js|md|toml|yml)$/.test(name) &&
			!/__test__|^benchmark|^CHANGELOG|-lock\.json$|versioning\.md$|pins\.json$/.test(name),
	);
	for (const name of files) cpSync(join(root, name), join(folder, name));
	const programs = join(folder, "programs");
	mkdirSync(programs);
	for (const name of ["cargo", "npm"])
		writeFileSync(join(programs, name), "#!/bin/sh\n", { mode: 0o755 });
	const env = { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` };
	const args = [join(folder, "tools/release/version.mjs"), "9.8.7"];
	const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
	assert.equal(status, 0, stderr);
	const [, old] = /version: (\S+) to 9\.8\.7/.exec(stdout);
	const left = files.filter((name) => readFileSync(join(folder, name), "utf8").includes(`${old}"`));
	assert.deepEqual(left, []);
});

test("linkFlags links the C runtime only into addons for Windows", () => {
	for (const [name, triple] of Object.entries(PLATFORMS)) {
		const isStatic = linkFlags(name, triple).includes("-Ctarget-feature=+crt-static");
		assert.equal(isStatic, name.startsWith("win32-"), name);
	}
});

/** An empty folder for the tools of this test. */
function emptyCache(t) {
	const folder = temporaryFolder(t);
	process.env.KNOWLEDGEPULSE_CACHE = folder;
	return folder;
}

const write = (folder, text) => writeFileSync(join(folder, "tool"), text);

test("once fills a folder a single time", (t) => {
	const cache = emptyCache(t);
	for (const text of ["first", "second"]) {
		const folder = once("one", (folder) => write(folder, text));
		assert.equal(readFileSync(join(folder, "tool"), "utf8"), "first");
	}
	assert.deepEqual(readdirSync(cache), ["one"]);
});

test("once keeps no folder whose filling throws", (t) => {
	const cache = emptyCache(t);
	const half = (folder) => {
		write(folder, "half");
		throw new Error("no network");
	};
	assert.throws(() => once("one", half), /no network/);
	assert.deepEqual(readdirSync(cache), []);
	const folder = once("one", (target) => write(target, "whole"));
	assert.equal(readFileSync(join(folder, "tool"), "utf8"), "whole");
});

for (const [end, left] of [
	["process.kill(process.pid, 'SIGKILL')", 1],
	// As npm for the install matrix, and all programs that fail.
	["run('false', [])", 0],
])
	test(`once fills a folder again after ${end} while it was filled`, (t) => {
		const cache = emptyCache(t);
		const code = `import { writeFileSync } from "node:fs";
			import { once } from "./tools/lib/cache.mjs";
			import { run } from "./tools/lib/run.mjs";
			once("one", (folder) => {
				writeFileSync(folder + "/tool", "half");
				${end};
			});`;
		const options = { cwd: root, encoding: "utf8" };
		const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", code], options);
		assert.notEqual(ended.status, 0, ended.stderr);
		assert.equal(readdirSync(cache).length, left);
		const folder = once("one", (target) => write(target, "whole"));
		assert.equal(readFileSync(join(folder, "tool"), "utf8"), "whole");
	});

test("unchanged.mjs has all files that the Rust side reads", () => {
	const list = (...pathspecs) =>
		capture("git", ["ls-files", "--", ...pathspecs])
			.trim()
			.split("\n");
	const known = new Set(list(...RUST_SIDE));
	const left = list(":/").filter((file) => !known.has(file));
	assert.ok(left.length > 200 && known.size > 300, `${left.length} and ${known.size} files`);
	// What is compiled, as cargo says it.
	const folder = join(root, "target/debug/deps");
	const infos = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".d")) : [];
	for (const info of infos)
		for (const file of readFileSync(join(folder, info), "utf8").split(/\s+/))
			assert.ok(!left.includes(file.replace(/:$/, "")), `${info} has ${file}`);
	// What is opened, by the folders that the sources name.
	const first = (files) => new Set([...files].map((file) => file.split("/")[0]));
	const folders = [...first(left)].filter((name) => !first(known).has(name)).join("|");
	const named = new RegExp(`(?<!reason = )["'](?:\\.\\./)*(?:${folders})/(?!\\.model)`);
	for (const file of known)
		if (/^(src|crates|fuzz|model)\/.*\.(rs|py|toml)$/.test(file))
			for (const line of readFileSync(join(root, file), "utf8").split("\n"))
				assert.ok(!named.test(line), `${file}: ${line}`);
});
