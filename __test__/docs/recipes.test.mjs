/** The recipes in examples/ work. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	appendFileSync,
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { clear, Scorer, similar } from "@knowledgepulse/scoring";
import { fromMessages } from "@knowledgepulse/scoring/logs";
import { metrics } from "@opentelemetry/api";
import { traces } from "../../examples/traces.mjs";
import { MemoryStore } from "../../packages/stores/__test__/conformance/memory-store.mjs";
import { draws } from "../support/draws.mjs";
import { conversation } from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { named } from "../support/stores.mjs";
import { words } from "../support/traces.mjs";
import { compile } from "../support/typescript.mjs";
import { checkout, furnish, noShell, programIn, read } from "./furnish.mjs";

const folder = temporaryFolder({ after });
furnish(folder);
writeFileSync(join(folder, "package.json"), '{ "type": "module" }');

/** Of frameworks that only the install matrix installs; it compiles and runs them. */
const FOREIGN = ["langchain.ts", "mastra.ts"];

const { noEmit, ...STRICT } = JSON.parse(read("__test__/tsconfig.json")).compilerOptions;
const recipes = join(folder, "examples/recipes");
const problems = compile(recipes, { ...STRICT, skipLibCheck: true }, FOREIGN);

const recipe = (name) => import(pathToFileURL(join(recipes, `${name}.js`)));

test("the recipes compile in strict mode", () => {
	assert.equal(problems, "");
});

/** Runs a recipe; returns the lines that it prints. */
async function linesOf(command, args, env) {
	const { stdout } = await programIn(folder, env)(command, args);
	return stdout.trim().split("\n");
}

const node = (name, args = [], env = {}) =>
	linesOf(process.execPath, [`examples/recipes/${name}`, ...args], env);

/** An HTTP server that records requests. */
async function stub() {
	const requests = [];
	const server = createServer(async (request, response) => {
		const { url, headers } = request;
		requests.push({ url, authorization: headers.authorization, body: await json(request) });
		response.end("{}");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	after(() => server.close());
	return { requests, url: `http://127.0.0.1:${server.address().port}` };
}

test("keep-memory.ts compares with the traces of the process before", async () => {
	assert.match((await node("keep-memory.js"))[0], /^empty-cache/);
	assert.match((await node("keep-memory.js"))[0], /^cache kp:trace:/);
});

test("tenants.ts gives a tenant's second trace another score than the first of another", async () => {
	const { score } = await recipe("tenants");
	const [acme, globex, again] = await Promise.all(
		["acme", "globex", "acme"].map((tenant) => score(tenant, traces[0])),
	);
	assert.equal(acme, globex);
	assert.notEqual(acme, again);
});

test("health.ts recovers without a call, and counts the calls of its scorer", async () => {
	const { health, observe } = await recipe("health");
	let isUp = true;
	const store = new MemoryStore({ namespaces: new Map(), namespace: "health" });
	for (const name of ["read", "append"]) {
		const call = store[name].bind(store);
		store[name] = (...values) => (isUp ? call(...values) : Promise.reject(new Error("down")));
	}
	const instrument = { record() {}, addCallback() {} };
	let read;
	const counter = { addCallback: (callback) => (read = callback) };
	const meter = {
		createHistogram: () => instrument,
		createObservableCounter: () => counter,
		createObservableGauge: () => instrument,
	};
	metrics.setGlobalMeterProvider({ getMeter: () => meter });
	const scorer = new Scorer({ novelty: "words", store });
	observe(scorer);
	assert.equal(await health(scorer), null);
	isUp = false;
	await scorer.evaluateValue(traces[0]);
	assert.equal(await health(scorer), "down");
	isUp = true;
	// A store that could not be reached is not asked for a second.
	while ((await health(scorer)) !== null) await sleep(100);
	const counts = {};
	read({ observe: (count, { outcome }) => (counts[outcome] = count) });
	assert.equal(counts.answered, 1);
	metrics.disable();
});

test("serverless.ts answers with a score", async () => {
	const { handler } = await recipe("serverless");
	const { statusCode, body } = await handler({ body: JSON.stringify(traces[0]) });
	assert.equal(statusCode, 200);
	assert.equal(JSON.parse(body).novelty, "empty-cache");
});

test("share.ts contributes what is accepted, and keeps in memory what was contributed", async () => {
	const { gate } = await recipe("share");
	const results = { good: "0.9", poor: "0.1", refused: "0.9", broken: "" };
	const offered = [];
	const errors = [];
	let isOver;
	const over = new Promise((resolve) => {
		isOver = resolve;
	});
	const note = (list) => (item) => {
		list.push(item);
		// The last two of four: a rejected trace leaves no note.
		if (offered.length === 2 && errors.length === 2) isOver();
	};
	const run = gate(async (name) => results[name], {
		threshold: 0.4,
		clean: (text) => text,
		traceOf: (result, name) => ({
			...named(name, `${name} task`),
			outcome: { confidence: result && Number(result) },
		}),
		contribute: async ({ id }) => {
			note(offered)(id);
			if (id === "refused") throw new Error("no room");
		},
		onError: ({ message }) => note(errors)(message),
	});
	await clear();
	for (const [name, result] of Object.entries(results)) assert.equal(await run(name), result);
	await over;
	assert.deepEqual(offered, ["good", "refused"]);
	assert.deepEqual(errors.sort(), [
		"no room",
		'outcome.confidence: expected a finite number in [0, 1], got ""',
	]);
	const known = (await similar("task")).map(({ id }) => id);
	assert.deepEqual(known, ["good"]);
});

test("share.ts cleans every text, and says who may see the trace", async () => {
	const { gate } = await recipe("share");
	const input = { key: "secret", nested: ["a secret"] };
	const messages = [
		{ role: "user", content: "Keep the secret" },
		{ role: "assistant", content: [{ type: "tool_use", id: "1", name: "vault", input }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "secret kept" }] },
	];
	const trace = await new Promise((resolve, reject) => {
		const options = { threshold: 0, traceOf: (result) => fromMessages(result, { success: true }) };
		const clean = (text) => text.replaceAll("secret", "-");
		gate(async () => messages, { ...options, clean, contribute: resolve, onError: reject })();
	});
	assert.doesNotMatch(JSON.stringify(trace), /secret/);
	assert.deepEqual(trace.steps, [
		{
			step_id: 0,
			type: "tool_call",
			tool: { name: "vault" },
			input: { key: "-", nested: ["a -"] },
		},
		{ step_id: 1, type: "observation", content: "- kept" },
	]);
	const { visibility, privacy_level } = trace.metadata;
	assert.deepEqual([visibility, privacy_level], ["network", "aggregated"]);
});

test("share.ts shares no trace in which a scanner finds a secret", async () => {
	const { gate } = await recipe("share");
	const input = { nested: [`token ghp_${"16C7e42F292c6912E7710c838347Ae178B4a"}`] };
	const traceOf = () => ({ ...named("leaking", "deploy"), steps: [{ type: "tool_call", input }] });
	const error = await new Promise((resolve, reject) => {
		const options = { threshold: 0, traceOf, clean: (text) => text };
		gate(async () => {}, { ...options, contribute: reject, onError: resolve })();
	});
	assert.equal(error.message, "leaking has secrets: @secretlint/secretlint-rule-github");
});

test("registry.ts answers with a score of its own", async () => {
	process.env.NOVELTY_DB = join(folder, "registry.db");
	const { default: app } = await recipe("registry");
	const send = async (body) => {
		const method = "POST";
		const response = await app.request("/v1/knowledge", { method, body: JSON.stringify(body) });
		return [response.status, await response.json()];
	};
	const [trace] = traces;
	const claimed = { ...trace, metadata: { ...trace.metadata, quality_score: 1 } };
	const [status, { id, quality_score }] = await send(claimed);
	assert.deepEqual([status, id], [201, trace.id]);
	assert.ok(quality_score >= 0.6 && quality_score < 1, quality_score);
	const [again, refusal] = await send({ ...claimed, id: "kp:trace:again" });
	assert.equal(again, 422);
	assert.ok(refusal.quality_score < quality_score);
	const invalid = await send({ ...trace, steps: 5 });
	assert.deepEqual(invalid, [400, { error: "steps: expected an array, got 5" }]);
	const large = "a".repeat(2 ** 20 + 1);
	assert.equal((await app.request("/v1/knowledge", { method: "POST", body: large })).status, 413);
	assert.equal((await app.request("/v1/knowledge", { method: "POST", body: "{" })).status, 400);
});

test("score.py prints a line for each trace that has steps", { skip: noShell }, async () => {
	const lines = await linesOf("python3", ["examples/recipes/score.py", "runs.jsonl"]);
	assert.equal(lines.length, traces.filter(({ steps }) => steps.length > 0).length);
	assert.match(lines[0], /^0\.\d{3} /);
	const [trace] = traces;
	const odd = { ...trace, task: { objective: "Größe\u2028and\u0085more" } };
	writeFileSync(join(folder, "odd.jsonl"), `${JSON.stringify(odd)}\n`);
	const env = { LC_ALL: "C", PYTHONUTF8: "0", PYTHONCOERCECLOCALE: "0", PYTHONIOENCODING: "utf-8" };
	const shown = await linesOf("python3", ["examples/recipes/score.py", "odd.jsonl"], env);
	assert.match(shown.join("\n"), /^0\.\d{3} Größe\u2028and\u0085more$/);
});

test("find.py finds a run by the words of an answer", { skip: noShell }, async () => {
	mkdirSync(join(folder, "earlier"));
	for (const [name, answer] of Object.entries({
		boats: "Two ferries.",
		trains: "One night train.",
	})) {
		const chat = [
			...conversation(`Which ${name} are there?`, answer),
			{ role: "user", content: "Thanks" },
		];
		writeFileSync(join(folder, `earlier/${name}.json`), JSON.stringify(chat));
	}
	const lines = await linesOf("python3", [
		"examples/recipes/find.py",
		"earlier",
		"night",
		'ferry"s',
	]);
	assert.equal(lines.length, 1);
	assert.match(lines[0], /^kp:trace:\S+ One night train\.$/);
});

test("weekly.sh keeps what was judged, nothing twice, and nothing dropped", {
	skip: noShell,
}, async () => {
	const week = join(folder, "weekly");
	const chats = join(week, "chats");
	mkdirSync(chats, { recursive: true });
	const execute = programIn(folder, { KNOWLEDGEPULSE_SCORING_NOVELTY: "words" });
	const run = (command) =>
		execute("sh", ["-c", `cd weekly && sh ../examples/recipes/weekly.sh ${command}`]);
	const read = (text) =>
		text
			.split("\n")
			.filter(Boolean)
			.map((line) => JSON.parse(line));
	const draw = draws(7);
	const outcomes = ["id;label"];
	const [kept, dropped] = [new Set(), new Set()];
	for (let n = 0; n < 3; n++) {
		const counts = { 1: 0, 0: 0, "": 0 };
		for (let i = 0; i < 300; i++) {
			const session_id = `${n}-${i}`;
			const content = `${words(8, draw.below(40))} ${words(3, draw.below(2 ** 30))}`;
			const lines = ["user", "assistant"].map((role) =>
				JSON.stringify({ session_id, role, content }),
			);
			writeFileSync(join(chats, `${session_id}.jsonl`), lines.join("\n"));
			const label = draw.of(["1", "1", "1", "0", ""]);
			counts[label] += 1;
			outcomes.push(`${session_id};${label}`);
		}
		writeFileSync(join(week, "outcomes.csv"), outcomes.join("\r\n"));
		for (const name of readdirSync(chats)) {
			const days = 3 + 7 * (n - Number(name[0]));
			const time = Date.now() / 1000 - 86_400 * days;
			utimesSync(join(chats, name), time, time);
		}
		const { stdout, stderr } = await run("choose");
		const chosen = read(stdout);
		assert.equal(chosen.length, 20);
		assert.match(
			stderr,
			new RegExp(`took the time of the file for ${300 * (n + 1)} runs without one`),
		);
		assert.match(
			stderr,
			new RegExp(`not considered: failed ${counts[0]}, success unknown ${counts[""]}$`, "m"),
		);
		for (const { id, key } of chosen) {
			assert.equal(key[0], String(n), "of this week");
			assert.ok(!kept.has(id) && !dropped.has(id), key);
		}
		// As the page saves them.
		const labels = chosen.map(({ id }, place) => [id, ["1", "0", "1", ""][place % 4]]);
		const lines = [["id", "label"], ...labels].map((line) => `${line.join(",")}\r\n`);
		writeFileSync(join(week, "labels.csv"), lines.join(""));
		for (const [id, label] of labels) if (label) (label === "1" ? kept : dropped).add(id);
		await run("keep");
		const ids = read(readFileSync(join(week, "kept.jsonl"), "utf8")).map(
			({ metadata }) => metadata.id,
		);
		assert.deepEqual(ids.toSorted(), [...kept].sort(), `week ${n}`);
	}
});

test("ci.yml runs commands that work", { skip: noShell }, async () => {
	const commands = [...read("examples/recipes/ci.yml").matchAll(/run: (.*)/g)];
	assert.equal(commands.length, 1);
	// A gate may find too few good runs.
	await linesOf("bash", ["-c", `${commands[0][1]} || test $? = 3`]);
	assert.ok(existsSync(join(folder, "scores.jsonl")));
});

const exchange = conversation("Which boats are in the harbour?", "Two ferries.");

test("langfuse.ts writes a score to each trace of an export", async () => {
	const [input, output] = exchange;
	const run = (id) => ({
		id,
		observations: [
			{ id: "o", type: "GENERATION", startTime: "2026-01-01T00:00:00Z", input: [input], output },
		],
		scores: [],
	});
	writeFileSync(join(folder, "export.json"), JSON.stringify([run("one"), run("two")]));
	const { requests, url } = await stub();
	const env = { LANGFUSE_HOST: url, LANGFUSE_PUBLIC_KEY: "pk", LANGFUSE_SECRET_KEY: "sk" };
	await node("langfuse.js", ["export.json"], env);
	assert.deepEqual(
		requests.map(({ url, authorization, body }) => [url, authorization, body.traceId]),
		["one", "two"].map((id) => ["/api/public/scores", `Basic ${btoa("pk:sk")}`, id]),
	);
	for (const { body } of requests) assert.ok(body.value >= 0 && body.value <= 1);
});

test("phoenix.ts annotates the trace of each run", async () => {
	const [input, output] = exchange.map((message) => JSON.stringify([message]));
	const attributes = Object.entries({
		"gen_ai.operation.name": "chat",
		"gen_ai.input.messages": input,
		"gen_ai.output.messages": output,
	}).map(([key, stringValue]) => ({ key, value: { stringValue } }));
	const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
	const ids = { traceId, spanId: "00f067aa0ba902b7", name: "chat" };
	const span = { ...ids, startTimeUnixNano: "1767225600000000000", attributes };
	const agent = { key: "gen_ai.operation.name", value: { stringValue: "invoke_agent" } };
	const agents = ["a", "b"].flatMap((id) => [
		{ ...span, spanId: id, attributes: [agent] },
		{ ...span, spanId: `${id}1`, parentSpanId: id },
	]);
	const spans = { resourceSpans: [{ scopeSpans: [{ spans: [span, ...agents] }] }] };
	writeFileSync(join(folder, "spans.jsonl"), JSON.stringify(spans));
	const { requests, url } = await stub();
	await node("phoenix.js", ["spans.jsonl"], { PHOENIX_HOST: url, PHOENIX_API_KEY: "key" });
	assert.equal(requests.length, 1);
	assert.equal(requests[0].url, "/v1/trace_annotations?sync=true");
	const { data } = requests[0].body;
	assert.equal(data.length, 3);
	assert.equal(new Set(data.map(({ identifier }) => identifier)).size, 3);
	for (const { trace_id, result } of data) {
		assert.equal(trace_id, traceId);
		assert.ok(result.score >= 0 && result.score <= 1);
	}
});

describe("the hook of claude-code-plugin", { skip: noShell }, () => {
	const rows = join(folder, ".kp-score/rows.jsonl");

	/** Ends a session as Claude Code does; returns the exit code of the hook. */
	async function endSession(transcript) {
		const { hooks } = JSON.parse(read("packages/cli/claude-code-plugin/hooks/hooks.json"));
		const [{ command, timeout }] = hooks.SessionEnd[0].hooks;
		// Neither npx nor an installed kp-score: the hook is in the package of its command line.
		const PATH = join(folder, "only-node");
		mkdirSync(PATH, { recursive: true });
		if (!existsSync(join(PATH, "node"))) symlinkSync(process.execPath, join(PATH, "node"));
		const CLAUDE_PLUGIN_ROOT = join(checkout, "packages/cli/claude-code-plugin");
		const env = { ...process.env, HOME: folder, PATH, CLAUDE_PLUGIN_ROOT };
		const hook = spawn("/bin/sh", ["-c", command], { env, timeout: timeout * 1000 });
		hook.stdin.end(JSON.stringify({ hook_event_name: "SessionEnd", transcript_path: transcript }));
		return (await once(hook, "exit"))[0];
	}

	async function rowsAfter(count) {
		let lines = [];
		for (let tries = 0; lines.length < count && tries < 600; tries++) {
			await sleep(100);
			if (existsSync(rows)) lines = readFileSync(rows, "utf8").trim().split("\n").filter(Boolean);
		}
		return lines.map((line) => JSON.parse(line));
	}

	/** The log, when it has errors of these transcripts. */
	async function errorsAfter(...names) {
		const errors = join(folder, ".kp-score/errors.log");
		for (let tries = 0; tries < 600; tries++) {
			const logged = existsSync(errors) ? readFileSync(errors, "utf8") : "";
			if (names.every((name) => logged.includes(`${name}.jsonl`))) return logged;
			await sleep(100);
		}
		return assert.fail(`no error of ${names}`);
	}

	test("appends a row for each session", async () => {
		for (const [index, name] of ["a", "b"].entries()) {
			assert.equal(await endSession(join(folder, `sessions/${name}/session.jsonl`)), 0);
			const written = await rowsAfter(index + 1);
			assert.equal(written.length, index + 1);
			assert.ok(written[index].score > 0);
		}
	});

	test("gives a session that ends twice the same score", async () => {
		const [first] = await rowsAfter(2);
		await endSession(join(folder, "sessions/a/session.jsonl"));
		const again = (await rowsAfter(3))[2];
		assert.deepEqual([again.id, again.score], [first.id, first.score]);
	});

	test("logs why a session was not scored, and no warnings", async () => {
		const content = "A garden has roses, hedges, and a bench. ".repeat(400);
		const long = read("examples/session.jsonl").replaceAll(/"text":"/g, `"text":"${content}`);
		for (const [name, text] of [
			["long", long],
			["wrong", "{"],
		])
			writeFileSync(join(folder, `${name}.jsonl`), text);
		await endSession(join(folder, "long.jsonl"));
		assert.equal((await rowsAfter(4))[3].isCut, true);
		await endSession(join(folder, "wrong.jsonl"));
		const logged = await errorsAfter("wrong");
		assert.doesNotMatch(logged, /warning|were cut/);
	});

	test("ends without an error for a transcript that is missing, empty, growing or unreadable", async () => {
		const [empty, growing, locked] = ["empty", "growing", "locked"].map((name) =>
			join(folder, `${name}.jsonl`),
		);
		writeFileSync(empty, "");
		writeFileSync(growing, `${read("examples/session.jsonl")}{"type":"assist`);
		writeFileSync(locked, "{}");
		chmodSync(locked, 0);
		for (const transcript of [join(folder, "none.jsonl"), empty, growing, locked, undefined, 7])
			assert.equal(await endSession(transcript), 0, transcript);
		appendFileSync(growing, "ant\n");
		rmSync(locked);
		await errorsAfter("none", "empty", "growing", "locked");
	});
});
