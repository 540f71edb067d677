/** A first run: the logs of a home folder, with default options. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import {
	assertEnds,
	environment,
	file,
	folder,
	idsOf,
	kpScore,
	linesOf,
	OFF,
	onTerminal,
	parsed,
	rowsOf,
	skipWithoutTerminal,
	traceOf,
} from "./support.mjs";

const SESSIONS = 49;
const PROJECTS = 5;

const home = join(folder, "home");

const write = (path, content) => file(`home/${path}`, content);

/** A session of Claude Code, which does not say whether it succeeded. */
function sessionOf(n) {
	const record = (step, role, content) => ({
		type: role,
		uuid: `${n}-${step}`,
		parentUuid: step > 0 ? `${n}-${step - 1}` : null,
		sessionId: `session-${n}`,
		timestamp: `2026-02-01T00:${String(n).padStart(2, "0")}:0${step}.000Z`,
		message: { role, content },
	});
	const call = { type: "tool_use", id: `call-${n}`, name: n % 2 ? "Read" : "Grep", input: {} };
	return [
		record(0, "user", `Find out why build ${n} of the garden is slow`),
		record(1, "assistant", [{ type: "text", text: `Perhaps the hedge ${n}.` }, call]),
		record(2, "user", [{ type: "tool_result", tool_use_id: call.id, content: "42 roses" }]),
		record(3, "assistant", [{ type: "text", text: "The roses take the time." }]),
	];
}

for (let n = 0; n < SESSIONS; n += 1)
	write(`.claude/projects/-home-me-${n % PROJECTS}/session-${n}.jsonl`, linesOf(sessionOf(n)));
write(".claude/projects/-home-me-0/sessions-index.json", '{"version":1,"entries":[]}');
const sidechain = sessionOf(SESSIONS).map((record) => ({ ...record, isSidechain: true }));
write(".claude/projects/-home-me-0/agent-1.jsonl", linesOf(sidechain));
write(".claude/projects/-home-me-1/open.jsonl", linesOf(sessionOf(SESSIONS + 1).slice(0, 1)));
write(".codex/sessions/2026/02/01/rollout-1.jsonl.zst", "");
// Nothing follows it.
symlinkSync(join(home, ".codex/sessions"), join(home, ".codex/sessions/2026/again"), "junction");
write(".local/share/opencode/storage/session/global/ses_1.json", "{}");

Object.assign(environment, { HOME: home, USERPROFILE: home });
for (const name of Object.keys(environment))
	if (/^(CLAUDE_CONFIG_DIR|CODEX_HOME|XDG_|APPDATA|npm_command)/.test(name))
		delete environment[name];

const PROJECTS_FOLDER = join(home, ".claude", "projects");

test("kp-score without arguments shows the logs on this machine, and commands for them", async () => {
	const { stdout, stderr } = await assertEnds(0, []);
	assert.equal(stderr, "");
	const isWindows = process.platform === "win32";
	const shown = (path) => (isWindows ? join(home, ...path.split("/")) : `~/${path}`);
	assert.deepEqual(stdout.split("\n").slice(1, -2), [
		`claude-code      50 files  kp-score score ${shown(".claude/projects")}`,
		`codex              1 file  kp-score score ${shown(".codex/sessions")}`,
		"opencode           1 file  opencode export > run.json && kp-score score run.json",
	]);
	const shownWith = async (changes) =>
		(await assertEnds(0, [], { env: { ...environment, ...changes } })).stdout;
	const other = { CLAUDE_CONFIG_DIR: join(home, "none"), CODEX_HOME: join(home, ".codex") };
	assert.doesNotMatch(await shownWith(other), /claude-code/);
	assert.match(await shownWith({ npm_command: "exec" }), /npx @knowledgepulse\/scoring-cli score/);
	const quoted = join(folder, "o'neil");
	file("o'neil/.claude/projects/run.jsonl", "");
	const line = await shownWith({ HOME: quoted, USERPROFILE: quoted });
	if (!isWindows) assert.ok(line.includes(`score '${quoted.replace("'", "'\\''")}/.claude/`), line);
	const nobody = await shownWith({ HOME: folder, USERPROFILE: folder });
	assert.match(nobody, /^No logs of agents found here\. Looked in:\nclaude-code .*\n/);
	assert.match(nobody, /\npi .*\nopenclaw .*\n.*\nkp-score score FILE scores any log, /);
});

test("kp-score needs no home folder", async (t) => {
	if (process.getuid?.() !== 0) return t.skip("only root can be another user");
	const { HOME, ...env } = environment;
	// A user as in a container, who has no entry in passwd.
	const nobody = { cwd: "/", env, uid: 54_321, gid: 54_321 };
	const input = linesOf([traceOf(1)]);
	assert.deepEqual(await idsOf(["score", "-", ...OFF], { ...nobody, input }), ["t:1"]);
	const { stdout } = await assertEnds(0, [], nobody);
	assert.match(stdout, /^(No l|L)ogs of agents/);
});

test("kp-score score takes a folder of sessions as it is", async () => {
	const { stdout, stderr } = await assertEnds(0, ["score", PROJECTS_FOLDER, ...OFF]);
	const rows = parsed(stdout);
	assert.equal(rows.length, SESSIONS);
	assert.equal(new Set(rows.map(({ group }) => group)).size, PROJECTS);
	for (const { group, source, successFrom, confidenceFrom } of rows) {
		assert.ok(source.name.includes(`/${group}/`), source.name);
		assert.deepEqual([successFrom, confidenceFrom, source.line], ["assumed", "default", 1]);
	}
	assert.match(stderr, /^success assumed for 49 of 49 runs, whose logs do not say it/m);
	assert.match(stderr, /^warning: .*outcome is 0\.80 in all 49 runs/m);
	assert.match(stderr, /^warning: not scored: 1 sub-agent file, 1 without an answer$/m);
	assert.doesNotMatch(stderr, /error|sessions-index/);
});

test("kp-score score --group replaces the projects", async () => {
	const args = ["score", PROJECTS_FOLDER, "--group", "/id", ...OFF];
	for (const { group, id } of await rowsOf(args)) assert.equal(group, id);
});

test("kp-score calibrate asks for success, and counts projects as groups", async () => {
	const asked = await assertEnds(2, ["calibrate", PROJECTS_FOLDER]);
	assert.match(asked.stderr, /hint: --assume-success/);
	const args = ["calibrate", PROJECTS_FOLDER, "--assume-success", "true"];
	const [{ rows }] = await rowsOf(args);
	assert.deepEqual([rows.total, rows.groups], [SESSIONS, PROJECTS]);
});

test("kp-score import --dry-run is short for many sessions", {
	skip: skipWithoutTerminal,
}, async () => {
	const shown = await onTerminal(["import", "--dry-run", "--no-progress", PROJECTS_FOLDER]);
	const lines = stripVTControlCharacters(shown).trim().split(/\r?\n/);
	assert.ok(lines.length < 10, shown);
	assert.equal(lines[0], "claude-code  49 runs in 51 sources");
	assert.match(shown, /success assumed for 49 of 49 runs, .* \(--assume-success\)/);
});

test("kp-score says first why there are no runs", async () => {
	const progress = Array(9).fill({ type: "progress", sessionId: "session-1" });
	const path = write("none.jsonl", linesOf([...sessionOf(1), ...progress]));
	const args = ["score", path, "--assume-success", "skip"];
	const { stderr } = await assertEnds(2, args);
	assert.match(stderr, /no traces in 1 source \(skipped: success_unknown 1\)/);
	const open = [2, 3].map((n) => write(`open-${n}.jsonl`, linesOf(sessionOf(n).slice(0, 1))));
	const several = await assertEnds(2, [...args, ...open]);
	assert.match(several.stderr, /\(skipped: 2 without an answer, success_unknown 1\)/);
});

test("kp-score score --top keeps the highest scores, in order", async () => {
	const all = await rowsOf(["score", PROJECTS_FOLDER, ...OFF]);
	const { stdout, stderr } = await assertEnds(0, ["score", PROJECTS_FOLDER, "--top", "7", ...OFF]);
	const [kept, scores] = [parsed(stdout), all].map((rows) => rows.map(({ score }) => score));
	assert.deepEqual(kept, scores.sort((a, b) => b - a).slice(0, 7));
	assert.match(stderr, /^49 traces/m);
});

test("kp-score explain --id takes what a table shows", { skip: skipWithoutTerminal }, async () => {
	const table = await onTerminal(["score", PROJECTS_FOLDER, "--no-progress", ...OFF], {
		NO_COLOR: "1",
	});
	const [id] = /[\da-f]{8}(?= {2}Find)/.exec(table);
	const args = ["explain", PROJECTS_FOLDER, "--id", id, "--id", `${id}…`, ...OFF];
	const [found, ...others] = await rowsOf(args);
	assert.deepEqual(others, []);
	assert.ok(found.id.startsWith(`kp:trace:${id}`));
	const shown = await onTerminal([...args, "--no-progress"], { NO_COLOR: "1" });
	assert.match(shown, /code · success assumed · 4 steps/);
	for (const cause of ["3 types, 4 steps", "1 tool in 4 steps", "confidence 0\\.8 by default"])
		assert.match(shown, new RegExp(`^ +${cause}\r?$`, "m"));
	const most = [...shown.matchAll(/up to \+(\d\.\d{3})/g)].map(([, text]) => text);
	const { dimensions, weights } = found.report;
	const left = ([name, value]) => ((1 - value) * weights[name]).toFixed(3);
	assert.deepEqual(most, Object.entries(dimensions).map(left));
	assert.match(shown, /\.claude\/projects\/-home-me-\d\/session-\d+\.jsonl:1/);
});

test("kp-score explain shows the same for rows as for logs, if it has their weights", async () => {
	const { stdout } = await assertEnds(0, ["score", PROJECTS_FOLDER, "--table", ...OFF]);
	const [, id] = /([\da-f]{8}) {2}Find/.exec(stdout);
	const even = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	const profiles = write("even.json", JSON.stringify({ code: even }));
	const rows = join(home, "rows.jsonl");
	await assertEnds(0, ["score", PROJECTS_FOLDER, "-o", rows, "--profiles", profiles, ...OFF]);
	const linesIn = async (...args) => {
		const explained = await assertEnds(0, ["explain", ...args, "--id", id, "--table"]);
		return explained.stdout.match(/^(\d|.*( × |\u2212)).*/gm);
	};
	const ofLogs = await linesIn(PROJECTS_FOLDER, "--profiles", profiles, ...OFF);
	assert.ok(ofLogs.length > 5, ofLogs);
	assert.deepEqual(await linesIn(rows, "--profiles", profiles), ofLogs);
	const { stderr } = await assertEnds(2, ["score", rows]);
	assert.match(stderr, /it has rows .*: kp-score explain, compare and calibrate take them/);
	const [{ id: whole }] = await rowsOf(["explain", rows, "--id", id]);
	assert.ok(whole.startsWith(`kp:trace:${id}`));
});

test("kp-score explain refuses rows with rules that were scored with other weights", async () => {
	const even = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	const profiles = write("rules.json", JSON.stringify({ code: even }));
	const step = (type, tool) => ({ type, content: "A step", ...(tool && { tool: { name: tool } }) });
	const call = step("tool_call", "editor");
	const recoveries = Array(3).fill(step("error_recovery"));
	const traces = [
		[step("thought")],
		[...Array(4).fill(call)],
		[...recoveries, step("tool_call", "a"), step("tool_call", "b"), step("tool_call", "c")],
		[...recoveries, ...Array(4).fill(call)],
	].map((steps, n) => ({ ...traceOf(n), steps }));
	const path = write("rules.jsonl", linesOf(traces));
	for (const [n, options] of [[], ["--profiles", profiles]].entries()) {
		const rows = join(home, `rules-${n}.jsonl`);
		await assertEnds(0, ["score", path, "-o", rows, ...options, ...OFF]);
		const all = parsed((await assertEnds(0, ["score", path, ...options, ...OFF])).stdout);
		const names = all.map(({ overrides }) => overrides.join("+"));
		assert.deepEqual(names, [
			"single-thought",
			"low-tool-diversity",
			"error-recovery",
			"error-recovery+low-tool-diversity",
		]);
		const { stdout } = await assertEnds(0, ["explain", rows, "--table", ...options]);
		assert.match(stdout, /low-tool-diversity .*\u22120\.10/);
		// Without its rule, a single thought says nothing of the weights.
		write("others.jsonl", linesOf(all.slice(1)));
		const other = n === 0 ? ["--profiles", profiles] : [];
		for (const row of all.slice(1)) {
			const one = write("one-row.jsonl", linesOf([row]));
			const { stderr } = await assertEnds(2, ["explain", one, "--table", ...other]);
			assert.match(stderr, /it was scored with other weights; --profiles has them/);
		}
	}
});

test("kp-score names the window of the model if most texts are longer", async () => {
	const content = "A garden has roses, hedges, and a bench. ".repeat(400);
	const long = { ...traceOf(1), steps: [{ type: "thought", content }] };
	const path = write("long.jsonl", linesOf([long]));
	const { stderr } = await kpScore(["score", path]);
	assert.match(
		stderr,
		/1 of 1 text \(100\.0 %\) were cut: the model saw the first 512 tokens; --novelty run/,
	);
	const whole = await kpScore(["score", path, "--novelty", "run"]);
	assert.equal(parsed(whole.stdout)[0].isCut, false);
	assert.doesNotMatch(whole.stderr, /were cut/);
});
