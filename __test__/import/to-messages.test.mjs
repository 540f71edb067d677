/** Messages of runs: their form, their calls, and the way back to the trace, for logs of every format. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fromMessages, importTraces, LOG_FORMATS, toMessages } from "@knowledgepulse/scoring/logs";
import * as z from "zod";
import { all, assumed, conversation } from "../support/imports.mjs";
import { readLogs } from "../support/logs.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const options = { ...assumed, errors: "collect" };

const content = z.string();
const name = z.string().min(1);
const type = z.literal("function");
const tool = z.literal("tool");
const status = z.enum(["error", "success", "unanswered"]);
const json = z.string().transform((text) => JSON.parse(text));
const call = { name, arguments: json.pipe(z.looseObject({})) };
const toolCall = z.strictObject({ id: name, type, function: z.strictObject(call) });
const parameters = z.looseObject({ type: z.literal("object") });
const definition = { name, description: content.optional(), parameters: parameters.optional() };

/**
 * What fine-tuning reads. OpenAI refuses content that is no string, as a data set does whose members have two types;
 * axolotl parses `arguments`, and fails unless they are JSON; TRL takes the tools as JSON schemas.
 */
const EXAMPLE = z.object({
	messages: z.array(
		z.discriminatedUnion("role", [
			z.strictObject({ role: z.enum(["system", "user"]), content }),
			z.strictObject({
				role: z.literal("assistant"),
				content,
				reasoning_content: name.optional(),
				tool_calls: z.array(toolCall).min(1).optional(),
			}),
			z.strictObject({ role: tool, content, tool_call_id: name, status: status.optional() }),
		]),
	),
	tools: z.array(z.strictObject({ type, function: z.strictObject(definition) })).optional(),
});

/**
 * Checks that the messages after each call answer it once; results of no call may come elsewhere. Returns the number of
 * those that say that there is no result.
 */
function checkCalls(messages, place) {
	const [ids, waiting] = [new Set(), new Set()];
	for (const { role, tool_call_id, tool_calls = [] } of [...messages, { role: "user" }]) {
		if (role === "tool") assert.ok(waiting.delete(tool_call_id) || waiting.size === 0, place);
		else assert.equal(waiting.size, 0, `${place}: ${[...waiting]}`);
		for (const { id } of tool_calls) {
			assert.ok(!ids.has(id), `${place}: ${id}`);
			ids.add(id);
			waiting.add(id);
		}
	}
	return messages.filter(({ status }) => status === "unanswered").length;
}

const LATER = "a text, a user or another answer comes between a call and its result";
const WITHIN =
	"a tool of the provider failed within an answer, so that the next call seems to recover";
const BETWEEN = "results stand between the calls of one answer";

/** Logs whose steps come again in another order or type, because results follow the message with their calls. */
const OTHERS = {
	"claude-code/one-record.jsonl": LATER,
	"claude-code/team.jsonl": LATER,
	"copilot-cli/one-request.jsonl": BETWEEN,
	"junie/events.jsonl": BETWEEN,
	"messages/beside.jsonl": WITHIN,
	"messages/responses.json": WITHIN,
	"mini-swe-agent/text.json": LATER,
	"opencode/export-2.json": LATER,
	"opencode/export.json": LATER,
	"otel/conventions.jsonl": LATER,
	"vscode-debug/main.jsonl": BETWEEN,
	// Recorded ones.
	"claude-code/written-traps.jsonl": BETWEEN,
	"copilot-cli/written-events.jsonl": LATER,
	"langfuse/claude-agent.json": LATER,
	"messages/anthropic-server-tools.json": WITHIN,
	"messages/responses-hosted.json": WITHIN,
	"mini-swe-agent/written-text.traj.json": LATER,
	"openai-agents/written-items.json": WITHIN,
	"opencode/s_stage0_small.json": LATER,
	"opencode/v2-export.json": LATER,
	"opencode/written-export.json": LATER,
};

const stepsOf = ({ steps }) =>
	steps.map(({ type, content, tool, input }) => JSON.stringify([type, content, tool?.name, input]));

/** Steps in any order, with calls of any type. */
const alike = (steps) => steps.map((step) => step.replace("error_recovery", "tool_call")).sort();

test("toMessages gives the traces of importTraces, with messages that give their steps again", async () => {
	const formats = new Set();
	for (const { root, paths } of readLogs())
		for (const path of paths) {
			const file = relative(root, path);
			const items = await all(toMessages(path, options));
			const traces = items.map(({ messages, tools, unanswered, ...item }) => item);
			assert.deepEqual(traces, await all(importTraces(path, options)), file);
			let isOther = false;
			for (const { error, ...item } of items) {
				if (error) continue;
				const { messages, provenance, trace, unanswered } = item;
				const place = `${file}:${provenance.source.line}`;
				EXAMPLE.parse(item);
				assert.equal(checkCalls(messages, place), unanswered);
				assert.equal(provenance.facts?.unanswered ?? unanswered, unanswered, place);
				formats.add(provenance.format);
				const again = await fromMessages(messages, { success: true });
				assert.equal(again.task.objective.trim(), trace.task.objective.trim(), place);
				const [expected, found] = [trace, again].map(stepsOf);
				assert.deepEqual(alike(found), alike(expected), place);
				if (!OTHERS[file]) assert.deepEqual(found, expected, place);
				isOther ||= String(found) !== String(expected);
			}
			assert.equal(isOther, file in OTHERS, file);
		}
	assert.deepEqual([...formats].sort(), [...LOG_FORMATS].sort());
});

const messagesOf = async (data, given) =>
	(await all(toMessages({ name: "n", data }, { ...assumed, ...given })))[0];

test("toMessages puts the calls of an answer into one message, and marks results", async () => {
	const { messages, tools, unanswered } = await messagesOf(`[
		{"role":"developer","content":[{"type":"text","text":"Be brief."}]},
		{"role":"system","content":"Speak German."},
		{"role":"user","content":"Sort."},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"Two lists."},
			{"type":"text","text":"I look."},
			{"type":"tool_use","id":"a","name":"f","input":{"n":1.5}},
			{"type":"tool_use","id":"a","name":"g","input":{}},
			{"type":"tool_use","name":"h","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"Error: of the list"}]},
		{"role":"user","content":[{"type":"tool_result","content":"no","is_error":true}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"once more"}]}]`);
	const type = "function";
	const made = (id, name, text) => ({ id, type, function: { name, arguments: text } });
	const role = "tool";
	const result = (id, content, status) => ({ role, content, tool_call_id: id, status });
	assert.deepEqual(messages, [
		{ role: "system", content: "Be brief.\n\nSpeak German." },
		{ role: "user", content: "Sort." },
		{
			role: "assistant",
			content: "I look.",
			reasoning_content: "Two lists.",
			tool_calls: [
				made("a", "f", '{"n":1.5}'),
				made("call_1", "g", "{}"),
				made("call_2", "h", "{}"),
			],
		},
		result("a", "Error: of the list", "success"),
		result("call_1", "no", "error"),
		result("call_2", "(no result)", "unanswered"),
		{ role, content: "once more", tool_call_id: "a" },
	]);
	assert.deepEqual([tools, unanswered], [undefined, 1]);
	const { provenance } = await fromMessages(messages, { success: true, provenance: true });
	assert.deepEqual(provenance.skipped, { system: 1, unanswered: 1 });
	assert.equal(provenance.facts.unanswered, 1);
});

test("toMessages has the objective as the first message of the user", async () => {
	const log = [{ role: "system", content: "s" }, ...conversation("one")];
	for (const [messages, objective, expected] of [
		[log, undefined, ["s", "one", "Done."]],
		[log, "two", ["s", "two", "one", "Done."]],
		[[{ role: "tool", content: "late" }, ...log], undefined, ["one", "late", "s", "Done."]],
		[[...log, { role: "user", content: "two" }], " two", ["s", " two", "one", "Done."]],
	]) {
		const found = (await messagesOf(messages, { objective })).messages;
		assert.deepEqual(
			found.map(({ content }) => content),
			expected,
		);
	}
});

test("toMessages reads the instructions and tools that a log has beside the messages", async () => {
	const [question, answer] = conversation("one");
	const parameters = { type: "object", properties: { n: { type: "number" } } };
	const tool = { type: "function", function: { name: "f", description: "d", parameters } };
	const [q, a, t, p] = [question, answer, tool, parameters].map((value) => JSON.stringify(value));
	const text = (value) => JSON.stringify(value);
	const d = '"name":"f","description":"d"';
	const span = (members) => `{"name":"chat","traceId":"t","spanId":"1","attributes":{${members}}}`;
	const logs = {
		OpenAI: `{"messages":[{"role":"system","content":"s"},${q},${a}],"tools":[${t},${t}]}`,
		"OpenAI's Responses": `{"input":"one","output":[${a}],"instructions":"s","tools":[{"type":"function",${d},"parameters":${p}}]}`,
		Anthropic: `{"request":{"system":[{"type":"text","text":"s"}],"messages":[${q}],"tools":[{${d},"input_schema":${p}}]},"response":${a}}`,
		Gemini: `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[${q},${a}],"tools":[{"functionDeclarations":[{${d},"parameters":${p}}]}]}`,
		Bedrock: `{"system":[{"text":"s"}],"messages":[${q},${a}],"toolConfig":{"tools":[{"toolSpec":{${d},"inputSchema":{"json":${p}}}}]}}`,
		"a data set": `{"system":"s","messages":[${q},${a}],"tools":${text(`[${t}]`)}}`,
		OpenTelemetry: span(
			`"gen_ai.input.messages":[${q}],"gen_ai.output.messages":[${a}],"gen_ai.system_instructions":"[{\\"type\\":\\"text\\",\\"content\\":\\"s\\"}]","gen_ai.tool.definitions":[{${d},"parameters":${p}}]`,
		),
		"the AI SDK": span(
			`"ai.prompt.messages":[{"role":"system","content":"s"},${q}],"ai.response.text":"Done.","ai.prompt.tools":[${text(`{${d},"inputSchema":${p}}`)}]`,
		),
		OpenInference: span(
			`"llm.input_messages.0.message.role":"system","llm.input_messages.0.message.content":"s","llm.input_messages.1.message.role":"user","llm.input_messages.1.message.content":"one","llm.output_messages.0.message.content":"Done.","llm.tools.0.tool.json_schema":${text(t)}`,
		),
		Langfuse: `{"id":"1","observations":[{"type":"GENERATION","input":{"system":"s","messages":[${q}],"tools":[${t}]},"output":${a}}]}`,
		LangSmith: `{"id":"1","trace_id":"1","run_type":"llm","inputs":{"messages":[{"role":"system","content":"s"},${q}]},"outputs":${a},"extra":{"invocation_params":{"tools":[${t}]}}}`,
		ATIF: `{"schema_version":"ATIF-v1.6","agent":{"tool_definitions":[${t}]},"steps":[{"source":"system","message":"s"},{"source":"user","message":"one"},{"source":"agent","message":"Done."}]}`,
		Inspect: `{"eval":{},"status":"success","samples":[{"messages":[{"role":"system","content":"s"},${q},${a}],"events":[{"tools":[{${d},"parameters":${p}}]}]}]}`,
		"τ²-bench": `{"info":{"environment_info":{"policy":"s"}},"simulations":[{"id":"1","messages":[${q},${a}]}]}`,
		Codex: `{"type":"session_meta","payload":{"id":"1","base_instructions":{"text":"s"}}}\n${[question, answer].map((payload) => text({ type: "response_item", payload })).join("\n")}`,
	};
	for (const [name, data] of Object.entries(logs)) {
		const { messages, tools } = await messagesOf(data);
		assert.deepEqual(messages, [{ role: "system", content: "s" }, question, answer], name);
		assert.deepEqual(
			tools,
			data.includes('\\"d\\"') || data.includes('"d"') ? [tool] : undefined,
			name,
		);
	}
});

/** Results that are JSON and resemble parts, messages, envelopes and results of frameworks. */
const DATA = [
	[{ type: "phone_call", number: 1 }],
	[
		{ type: "file", name: "a" },
		{ type: "dir", name: "b" },
	],
	[{ type: "text", text: "a", language: "de" }],
	[{ text: "a" }, { total: 7 }],
	[{ role: "user", content: "a" }],
	[[{ type: "text", text: "a" }]],
	[null, "", 0],
	{ content: ["a"], total: 7 },
	{ content: [{ type: "text", text: "a" }], isError: false, total: 7 },
	{ content: [{ type: "row", text: "a" }] },
	{ type: "text", text: "a", language: "de" },
	{ type: "tool-result", output: 1 },
	{ type: "json", value: 1, unit: "m" },
	{ role: "tool", content: "a", total: 7 },
	{ tool_call_id: "1", content: "a", total: 7 },
	{ messages: [{ role: "user", content: "a" }] },
	{ parts: [{ text: "a" }] },
	{ output: "a", exit_code: 0 },
	{ kind: "text", data: "a" },
	{ lc: 1, type: "a", id: ["b"] },
];

test("importers keep all of a result that is JSON, through every door", async (t) => {
	const path = join(temporaryFolder(t), "log.jsonl");
	const chat = (results, index) => [
		{ role: "user", content: `Go ${index}` },
		{
			role: "assistant",
			content: [{ type: "tool-call", toolCallId: "1", toolName: "f", input: {} }],
		},
		{ role: "tool", tool_call_id: "1", ...results },
	];
	const [type, toolCallId, toolName] = ["tool-result", "1", "f"];
	const part = (value) => ({ type, toolCallId, toolName, output: { type: "json", value } });
	const ofText = (text, index) => chat({ content: text }, index);
	const ofValue = (value, index) => chat({ content: [part(value)] }, index);
	const span = (text, index) => ({
		name: "f",
		traceId: `${index}`,
		spanId: "1",
		attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": text },
	});
	const texts = DATA.map((value) => JSON.stringify(value));
	const log = (values, make) => values.map((...given) => JSON.stringify(make(...given))).join("\n");
	writeFileSync(path, log(texts, ofText));
	const again = ({ messages }) => fromMessages(messages, { success: true });
	const imported = async (input) =>
		(await all(importTraces(input, assumed))).map(({ trace }) => trace);
	const doors = {
		file: await imported(path),
		data: await imported({ name: "n", data: log(DATA, ofValue) }),
		spans: await imported({ name: "n", data: log(texts, span) }),
		fromMessages: await Promise.all(DATA.map(ofValue).map((messages) => again({ messages }))),
		toMessages: await Promise.all((await all(toMessages(path, assumed))).map(again)),
	};
	const resultOf = ({ steps }) => steps.find(({ type }) => type === "observation").content;
	for (const [door, traces] of Object.entries(doors)) {
		const found = traces.map((trace) => JSON.parse(resultOf(trace)));
		assert.deepEqual(found, DATA, door);
	}
});
