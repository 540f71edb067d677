import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { assertEnds, file, folder, parsed, shell } from "./support.mjs";

/** Some letters and digits. Put together here, so that no scanner finds a secret in this file. */
const some = (length) =>
	Array.from({ length }, (_, at) => "abcdefghijABCDEFGHIJ0123456789"[(at * 7 + 3) % 30]).join("");

/** A secret for each rule of the preset. */
const SECRETS = {
	anthropic: `sk-ant-api03-${some(93)}AA`,
	aws: `AWS_SECRET_ACCESS_KEY = ${some(40)}`,
	"aws id": `AKIA${"ABCDEFGHIJ234567"}`,
	basicauth: `https://user:${some(12)}@example.com/a`,
	"database-connection-string": `postgres://user:${some(10)}@db.example.com:5432/x`,
	github: `ghp_${some(36)}`,
	linear: `lin_api_${some(40)}`,
	npm: `npm_${some(36)}`,
	openai: `sk-${some(20)}T3BlbkFJ${some(20)}`,
	privatekey: `-----BEGIN RSA PRIVATE KEY-----\nMI${some(62)}\n${some(64)}\n-----END RSA PRIVATE KEY-----`,
	sendgrid: `SG.${some(22)}.${some(43)}`,
	shopify: `shpat_${"0123456789abcdef".repeat(2)}`,
	slack: `xoxb-123456789012-1234567890123-${some(24)}`,
};

/** A conversation with the secret in every place: texts, arguments, their names, results, ids. */
const conversation = (secret) => [
	{ role: "system", content: `You have ${secret}.` },
	{ role: "user", content: `// secretlint-disable\nUse "${secret}" to deploy` },
	{
		role: "assistant",
		content: `With ${secret}`,
		tool_calls: [
			{
				id: `call ${secret}`,
				type: "function",
				function: {
					name: "run",
					arguments: JSON.stringify({ [secret]: [secret, { deep: secret }] }),
				},
			},
		],
	},
	{
		role: "tool",
		tool_call_id: `call ${secret}`,
		content: JSON.stringify({ found: `a ${secret} b` }),
	},
	{ role: "assistant", content: `Done: ${secret}` },
];

/** Parts of a secret that would tell it, as they stand in JSON. */
const partsOf = (secret) =>
	secret.split(/[\n =]/).filter((part) => /\d/.test(part) && part.length > 15);

for (const [rule, secret] of Object.entries(SECRETS))
	test(`kp-score --as messages and --redact remove secrets of ${rule} from every place`, async () => {
		file("secret.json", JSON.stringify(conversation(secret)));
		for (const args of [
			["import", "secret.json", "--assume-success", "true", "--as", "messages", "-o", "out.jsonl"],
			["import", "secret.json", "--assume-success", "true", "--redact", "-o", "out.jsonl"],
			"select secret.json --novelty words --count 1 --as messages -o out.jsonl".split(" "),
		]) {
			const { stderr } = await assertEnds(0, args);
			const written = readFileSync(join(folder, "out.jsonl"), "utf8");
			for (const part of partsOf(secret))
				assert.ok(!written.includes(part), `${part} in ${written}`);
			assert.ok(written.includes(`[${rule.split(" ")[0]}]`));
			assert.match(stderr, /\d+ secrets? removed: /);
		}
	});

test("kp-score --redact removes a secret that is known by its name alone, wherever it stands", async () => {
	const key = some(40);
	for (const found of [
		JSON.stringify({ AWS_SECRET_ACCESS_KEY: key }),
		JSON.stringify({ AccessKey: { SecretAccessKey: key } }),
		`AWS_SECRET_ACCESS_KEY${" ".repeat(20)}= ${key}`,
	]) {
		const messages = conversation("nothing");
		messages[3].content = found;
		messages[4].content = `The key is ${key}, e`;
		file("named.json", JSON.stringify(messages));
		const args = "import named.json --assume-success true --as messages -o named.jsonl";
		await assertEnds(0, args.split(" "));
		const written = readFileSync(join(folder, "named.jsonl"), "utf8");
		assert.ok(!written.includes(key) && written.includes("The key is [aws], e"), written);
	}
});

test("kp-score writes nothing if a secret stays", async () => {
	const messages = conversation("nothing");
	messages[3].content = `{"a":"${SECRETS.npm}","a":"x"}`;
	file("stays.json", JSON.stringify(messages));
	const args = "import stays.json --assume-success true --as messages -o stays.jsonl";
	const { stderr } = await assertEnds(4, args.split(" "));
	assert.match(stderr, /a secret could not be removed, so nothing is written: npm/);
	assert.ok(!existsSync(join(folder, "stays.jsonl")));
});

test("kp-score --no-redact leaves secrets in messages, and says so", async () => {
	file("secret.json", JSON.stringify(conversation(SECRETS.github)));
	const args = "import secret.json --assume-success true --as messages --no-redact -o raw.jsonl";
	const { stderr } = await assertEnds(0, args.split(" "));
	assert.match(stderr, /secrets were not removed \(--no-redact\)/);
	const [{ messages, metadata }] = parsed(readFileSync(join(folder, "raw.jsonl"), "utf8"));
	assert.equal(messages[0].role, "system");
	assert.deepEqual(Object.keys(metadata), ["id", "success", "successFrom", "project", "source"]);
});

/** A copy of the command line whose scanner is what `write` puts into its node_modules. */
function withScanner(name, write) {
	const copy = join(folder, name);
	const own = fileURLToPath(new URL("..", import.meta.url));
	for (const part of ["bin", "lib", "package.json"])
		cpSync(join(own, part), join(copy, part), { recursive: true });
	const require = createRequire(import.meta.url);
	for (const dependency of ["@knowledgepulse/scoring", "commander", "csv-parse", "tinyglobby"]) {
		const target = join(copy, "node_modules", dependency);
		mkdirSync(dirname(target), { recursive: true });
		const found = require.resolve
			.paths(dependency)
			.map((path) => join(path, dependency))
			.find(existsSync);
		symlinkSync(found, target);
	}
	write(join(copy, "node_modules/@secretlint"));
	return `'${process.execPath}' '${join(copy, "bin/kp-score.js")}'`;
}

const failing = (path) => {
	for (const [name, code] of [
		[
			"core",
			"exports.lintSource = async ({ source }) => { if (source.content) throw new Error('no'); return { messages: [] } }",
		],
		["secretlint-rule-preset-recommend", "exports.creator = {}"],
	]) {
		mkdirSync(join(path, name), { recursive: true });
		writeFileSync(join(path, name, "index.js"), code);
	}
};

for (const [name, write, message] of [
	["missing", () => {}, /--redact needs @secretlint\/core/],
	["failing", failing, /Secretlint failed, so nothing is written: no/],
])
	test(`kp-score writes nothing with a ${name} scanner`, {
		skip: process.platform === "win32",
	}, async () => {
		const program = withScanner(name, write);
		file("plain.json", JSON.stringify(conversation("nothing")));
		for (const [command, out] of [
			["import plain.json --assume-success true --as messages -o", `${name}-1.jsonl`],
			["select plain.json --novelty words --count 1 --as messages -o", `${name}-2.jsonl`],
		]) {
			const { code, stderr } = await shell(`${program} ${command} ${out}`);
			assert.equal(code, 4, stderr);
			assert.match(stderr, message);
			assert.ok(!existsSync(join(folder, out)));
		}
	});
