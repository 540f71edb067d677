import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { assertQuiet, run } from "../support/child.mjs";
import { library, modelFolder, temporaryFolder } from "../support/model-folder.mjs";
import { says, words } from "../support/traces.mjs";

const traces = Array.from({ length: 12 }, (_, i) => says(words(i % 2 ? 400 : 5, i)));

/** Every file in a folder, with size and modification time. */
function filesBelow(folder) {
	return readdirSync(folder, { recursive: true })
		.map((name) => {
			const { size, mtimeMs } = statSync(join(folder, name));
			return `${name} ${size} ${mtimeMs}`;
		})
		.sort();
}

/**
 * Scores, and lists the open descriptors meanwhile, some hundred times. Misses what is open only between two
 * lists.
 */
async function watchDescriptors({ scoring, input }) {
	const { readdirSync, readFileSync, readlinkSync } = await import("node:fs");
	/** Open for writing: the low bits of the flags are 1 (write) or 2 (read and write). */
	const isWritable = (fd) => {
		const info = readFileSync(`/proc/self/fdinfo/${fd}`, "utf8");
		return (Number.parseInt(/flags:\s*(\d+)/.exec(info)[1], 8) & 3) !== 0;
	};
	const look = () => {
		const open = [];
		for (const fd of readdirSync("/proc/self/fd")) {
			try {
				const target = readlinkSync(`/proc/self/fd/${fd}`);
				if (target.startsWith("socket:")) open.push(target);
				else if (target.startsWith("/") && isWritable(fd)) open.push(`${target}, writable`);
			} catch {
				// It was the descriptor of the list itself, or has been closed since.
			}
		}
		return open;
	};
	const seen = new Set();
	const before = look();
	let done = false;
	const scores = Promise.all(input.map((trace) => scoring.evaluateValue(trace))).then((scores) => {
		done = true;
		return scores;
	});
	let looks = 0;
	while (!done) {
		for (const open of look()) seen.add(open);
		looks += 1;
		await new Promise(setImmediate);
	}
	for (const open of before) seen.delete(open);
	const state = scoring.status().embedder.state;
	return { scores: await scores, state, looks, before, seen: [...seen], after: look() };
}

test("evaluateValue prints nothing, and leaves no file behind", async (t) => {
	const parent = temporaryFolder(t);
	const names = ["home", "tmp", "cache", "config", "data", "state", "runtime"];
	const folders = names.map((name) => join(parent, name));
	for (const folder of folders) mkdirSync(folder);
	const [home, tmp, cache, config, data, state, runtime] = folders;
	const env = {
		HOME: home,
		USERPROFILE: home,
		APPDATA: config,
		LOCALAPPDATA: data,
		TMPDIR: tmp,
		TMP: tmp,
		TEMP: tmp,
		XDG_CACHE_HOME: cache,
		XDG_CONFIG_HOME: config,
		XDG_DATA_HOME: data,
		XDG_STATE_HOME: state,
		XDG_RUNTIME_DIR: runtime,
	};
	const watched = [parent, dirname(library), modelFolder];
	const before = watched.map(filesBelow);
	const ended = await run(
		async ({ scoring, input }) => {
			const scores = await Promise.all(input.map((trace) => scoring.evaluateValue(trace)));
			return { scores, state: scoring.status().embedder.state };
		},
		{ input: traces, env },
	);
	assertQuiet(ended);
	assert.equal(ended.value.state, "ready");
	assert.deepEqual(watched.map(filesBelow), before);
});

test("evaluateValue opens no socket, and no file for writing", async (t) => {
	if (process.platform !== "linux") {
		t.diagnostic("open descriptors can only be seen on Linux: not looked at here");
		return;
	}
	const ended = await run(watchDescriptors, { input: traces });
	assertQuiet(ended);
	const { state, looks, before, seen, after } = ended.value;
	t.diagnostic(`${looks} looks at the open descriptors`);
	assert.equal(state, "ready");
	assert.ok(looks >= 10, `only ${looks} looks`);
	assert.notEqual(before.length, 0, "the pipes of this test should be seen");
	assert.deepEqual(seen, []);
	assert.deepEqual(after, before);
});
