import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { draws, repeatable, repeats, seed } from "../../../__test__/support/draws.mjs";
import { assertEnds, file, folder, parsed, shell } from "./support.mjs";

const { Redaction } = createRequire(import.meta.url)("../lib/redaction/index.js");

/** Some letters and digits. Put together here, so that no scanner finds a secret in this file. */
const some = (length) =>
	Array.from({ length }, (_, at) => "abcdefghijABCDEFGHIJ0123456789"[(at * 7 + 3) % 30]).join("");

const github = `ghp_${some(36)}`;
const npm = `npm_${some(36)}`;
const awsId = `AKIA${"ABCDEFGHIJ234567"}`;
const rsa = `-----BEGIN RSA PRIVATE KEY-----\nMI${some(62)}\n${some(64)}\n-----END RSA PRIVATE KEY-----`;

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

for (const [rule, secret] of Object.entries({ github, privatekey: rsa }))
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
			assert.ok(written.includes(`[${rule}]`));
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

test("kp-score writes nothing if a part of a private key would stay", async () => {
	const messages = conversation("nothing");
	messages[3].content = PEM.pkcs8.split("\n").slice(0, 5).join("\n");
	file("stays.json", JSON.stringify(messages));
	const args = "import stays.json --assume-success true --as messages -o stays.jsonl";
	const { stderr } = await assertEnds(4, args.split(" "));
	assert.match(stderr, /a part of a private key could not be removed, so nothing is written/);
	assert.ok(!existsSync(join(folder, "stays.jsonl")));
});

test("kp-score --no-redact leaves secrets in messages, and says so", async () => {
	file("secret.json", JSON.stringify(conversation(github)));
	const args = "import secret.json --assume-success true --as messages --no-redact -o raw.jsonl";
	const { stderr } = await assertEnds(0, args.split(" "));
	assert.match(stderr, /secrets were not removed \(--no-redact\)/);
	const [{ messages, metadata }] = parsed(readFileSync(join(folder, "raw.jsonl"), "utf8"));
	assert.equal(messages[0].role, "system");
	assert.deepEqual(Object.keys(metadata), [
		"id",
		"key",
		"success",
		"successFrom",
		"project",
		"source",
	]);
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

/** Writes a preset. Its exports are code. */
const preset = (code) => (path) => {
	const folder = join(path, "secretlint-rule-preset-recommend");
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "index.js"), code);
};

/** A preset with a rule that finds the made-up tokens, and does something else in other texts. */
const presetThat = (does) =>
	preset(`exports.creator = { create: ({ registerRule }) => registerRule({
		meta: { id: "some" },
		create: (context) => ({ file({ content }) {
			const token = /^a (.*) b$/.exec(content)?.[1];
			if (token) return context.report({ message: {}, range: [2, 2 + token.length] });
			${does}
		} }),
	}) }`);

for (const [name, write, message] of [
	["missing", () => {}, /--redact needs @secretlint\/secretlint-rule-preset-recommend/],
	["broken", preset("exports.creator = {}"), /the scanner failed \(TypeError\), so nothing/],
	["empty", preset("exports.creator = { create() {} }"), /does not find a made-up token/],
	[
		"failing",
		presetThat("throw new TypeError(content);"),
		/the scanner failed \(TypeError\), so nothing/,
	],
	[
		"lying",
		presetThat("context.report({ message: {}, range: [3, 1e9] });"),
		/a secret has no place: some/,
	],
	[
		"vague",
		presetThat("context.report({ message: {}, range: [] });"),
		/a secret has no place: some/,
	],
	[
		"greedy",
		presetThat("context.report({ message: {}, range: [1, 9] });"),
		/could not be removed: some/,
	],
])
	test(`kp-score writes nothing with a scanner that is ${name}`, {
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
			assert.doesNotMatch(stderr, /You have nothing/);
			assert.ok(!existsSync(join(folder, out)));
		}
	});

const pem = (type, options, format) =>
	generateKeyPairSync(type, options).privateKey.export({ type: format, format: "pem" }).trim();

const PEM = {
	pkcs8: pem("rsa", { modulusLength: 1024 }, "pkcs8"),
	sec1: pem("ec", { namedCurve: "P-256" }, "sec1"),
	ed25519: pem("ed25519", undefined, "pkcs8"),
};

/** Kinds of secrets: name of the rule, the secret, and what it stands in. */
const KINDS = [
	["address", some(14), (s) => `redis://:${s}@cache.corp.net:6379/0`],
	["address", some(14), (s) => `amqps://app:${s}@mq.corp.net/%2f`],
	["address", some(40), (s) => `https://${s}:@github.com/a/b.git`],
	["anthropic", `sk-ant-api03-${some(93)}AA`],
	["authorization", `ey${some(30)}.ey${some(60)}.${some(43)}`, (s) => `Authorization: Bearer ${s}`],
	["aws", some(40), (s) => `AWS_SECRET_ACCESS_KEY=${s}`],
	["aws", `${some(39)}/`, (s) => `aws_secret_access_key = ${s}`],
	["aws", awsId],
	["aws", "123456789012", (s) => `account_id: ${s}`],
	["azure", `${some(86)}==`, (s) => `AccountName=a;AccountKey=${s};`],
	["basicauth", `https://user:${some(12)}@example.com`],
	["database-connection-string", `postgres://app:${some(10)}@db.corp.net:5432/x`],
	["digitalocean", `dop_v1_${"0123456789abcdef".repeat(4)}`],
	["discord", `M${some(23)}.${some(6)}.${some(27)}`],
	["github", github],
	["google", `AIza${some(35)}`],
	["huggingface", `hf_${some(34)}`],
	["linear", `lin_api_${some(40)}`],
	["netrc", some(12), (s) => `machine a.corp.net login me password ${s}`],
	["npm", npm],
	["npm", some(36), (s) => `//registry.corp.net/:_authToken=${s}`],
	["openai", `sk-${some(20)}T3BlbkFJ${some(20)}`],
	["openrouter", `sk-or-v1-${"0123456789abcdef".repeat(4)}`],
	["pypi", `pypi-AgEIcHlwaS5vcmc${some(120)}`],
	["sendgrid", `SG.${some(22)}.${some(43)}`],
	["shopify", `shpat_${"0123456789abcdef".repeat(2)}`],
	["slack", `xoxb-123456789012-1234567890123-${some(24)}`],
	["slack", `https://hooks.slack.com/services/T${some(8)}/B${some(8)}/${some(24)}`],
	["stripe", `sk_live_${some(24)}`],
	["telegram", `12345678:AA${some(33)}`],
	...Object.values(PEM).map((key) => ["privatekey", key]),
	["privatekey", rsa.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n")],
].map(([rule, secret, inText = (s) => s]) => ({ rule, secret, text: inText(secret) }));

const E = "\u001b";
const json = JSON.stringify;
const same = (text) => text;
const eachLine = (change) => (text) => text.split("\n").map(change).join("\n");
const escaped = (text, form) =>
	text.replace(/[\s\S]/g, (c) => (c < "\u0100" ? form(c.charCodeAt(0)) : c));
const hex = (code, digits) => code.toString(16).padStart(digits, "0");
const python = (text) =>
	`b'${text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t").replaceAll(E, "\\x1b").replaceAll("'", "\\'")}'`;
const shellQuoted = (text) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
const html = (text) =>
	text
		.replaceAll("&", "&amp;")
		.replaceAll('"', "&quot;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;");

/** Undoes escapes as often as they have been made, and colours. Other code than what is tested. */
const UNSEEN = new RegExp(
	`${E}\\[[\\d;]*[A-Za-z]|${E}\\]8;;[^${"\u0007"}]*\u0007|\\^\\[\\[\\d*m|[\u200b\u00ad\ufeff]`,
	"g",
);
const plain = (text) => text.replace(UNSEEN, "");
const undone = (text) =>
	text.replace(/\\(u[\da-f]{4}|x[\da-f]{2}|[0-3][0-7]{2}|[\s\S])/g, (_, c) => {
		if (/^[ux]/.test(c)) return String.fromCharCode(Number.parseInt(c.slice(1), 16));
		if (/^\d/.test(c)) return String.fromCharCode(Number.parseInt(c, 8));
		return { n: "\n", r: "\r", t: "\t" }[c] ?? c;
	});
const often = (n) => (text) => (n === 0 ? text : often(n - 1)(undone(text)));
const unquoted = (text) =>
	text
		.replaceAll("&quot;", '"')
		.replaceAll("&lt;", "<")
		.replaceAll("&gt;", ">")
		.replaceAll("&amp;", "&");

/** What a secret may stand in, and how a reader sees through it. */
const WRAPPINGS = {
	plain: [same],
	sentence: [(s) => `Use ${s} to deploy`],
	"end of a sentence": [(s) => `It is ${s}\nDone.`],
	brackets: [(s) => `see (${s}) or [${s}]`],
	quotes: [(s) => `"${s}", '${s}'`],
	backticks: [(s) => `\`${s}\``],
	"angle brackets": [(s) => `<${s}>`],
	"a fence": [(s) => `\`\`\`sh\n${s}\n\`\`\``],
	"a table": [(s) => `| name | ${s} | on |`],
	"a list": [(s) => `- a\n- ${s}\n- b`],
	"a link": [(s) => `[here](${s})`],
	attribute: [(s) => `<a href="${s}">a</a>`],
	element: [(s) => `<value>${s}</value>`],
	cdata: [(s) => `<![CDATA[${s}]]>`],
	"quoted HTML": [(s) => html(`<a b="${s}">`), unquoted],
	"quoted HTML of JSON": [(s) => html(json({ a: s })), (t) => undone(unquoted(t))],
	json: [(s) => json({ id: 1, out: s }), undone],
	"json, spaced": [(s) => json({ out: [s], n: null }, null, 2), undone],
	"json in json": [(s) => json({ a: json({ b: s }) }), often(2)],
	"json, thrice": [(s) => json([json([json([s])])]), often(3)],
	"json, four times": [(s) => json([json([json([json([s])])])]), often(4)],
	"json, broken": [(s) => `{"a": ${json(s)}, "b": [`, undone],
	"json with big numbers": [
		(s) => `{"id":9007199254740993,"far":1e400,"far":2.50,"a":${json(s)}}`,
		undone,
	],
	"json behind a header": [(s) => `HTTP/1.1 200 OK\n\n${json({ stdout: `x\n${s}` })}`, undone],
	"lines of json": [(s) => [1, 2].map((n) => json({ n, t: `x\t${s}` })).join("\n"), undone],
	"a fence of json": [(s) => `\`\`\`json\n${json({ log: `k\r\n${s}` }, null, 2)}\n\`\`\``, undone],
	"a name in json": [(s) => json({ [`a ${s}`]: { b: 1 } }), undone],
	"escaped slashes": [(s) => json({ u: s }).replaceAll("/", "\\/"), undone],
	"all as \\u": [(s) => `{"a":"${escaped(s, (code) => `\\u${hex(code, 4)}`)}"}`, undone],
	"letters as \\u": [(s) => json({ a: s }).replace(/g/g, "\\u0067"), undone],
	"all as \\x": [(s) => `b'${escaped(s, (code) => `\\x${hex(code, 2)}`)}'`, undone],
	"all as octal": [
		(s) => `$'${escaped(s, (code) => `\\${code.toString(8).padStart(3, "0")}`)}'`,
		undone,
	],
	"a repr of Python": [(s) => python(s), undone],
	"a repr of a repr": [(s) => python(python(s)), often(2)],
	"a template": [(s) => `const a = \`x${s.replace(/^/, " ")}\`;`],
	"code of JavaScript": [(s) => `const secret = ${json(s)};`, undone],
	export: [(s) => `export A='${s}'\necho`],
	"shell quotes": [(s) => `curl -d "${shellQuoted(json({ a: s }))}"`, often(2)],
	"a here document": [(s) => `cat <<EOF > f\n${s}\nEOF`],
	"set -x": [(s) => `+ echo ${s}\n+ ls`],
	"a file of settings": [(s) => `[a]\nb = ${s}\nc = 1`],
	toml: [(s) => `a = """\n${s}\n"""`],
	"a block of YAML": [(s) => `a: |\n${eachLine((line) => `  ${line}`)(s)}\nb: c`],
	"quoted YAML": [(s) => `a: "${s}"\nb: c`],
	csv: [(s) => `a,b\n1,"${s}"\n`],
	tsv: [(s) => `a\tb\n1\t${s}\t2`],
	sql: [(s) => `INSERT INTO t VALUES (1, '${s}');`],
	"a log": [(s) => `2026-01-02T03:04:05Z INFO a.b: ${s}`],
	"the query of a URL": [
		(s) => `https://a.example/?b=1&c=${encodeURIComponent(s)}`,
		decodeURIComponent,
	],
	colours: [(s) => `${E}[32m${s}${E}[0m`, plain],
	"colours of each line": [(s) => eachLine((line) => `${E}[1;38;5;9m${line}${E}[0m`)(s), plain],
	"colours within": [(s) => `a ${s.slice(0, 6)}${E}[1m${s.slice(6)}${E}[m b`, plain],
	"grep --color": [(s) => `${E}[35m.env${E}[m${E}[K:${E}[01;31m${E}[K${s}${E}[m${E}[K`, plain],
	"a hyperlink": [(s) => `${E}]8;;x:y\u0007${s}${E}]8;;\u0007`, plain],
	"colours as ^[": [(s) => `^[[32m${s}^[[0m`, plain],
	"colours in json": [(s) => json({ a: `${E}[32m${s}${E}[0m` }), (t) => plain(undone(t))],
	"colours in a repr": [(s) => python(`${E}[32m${s}${E}[0m`), (t) => plain(undone(t))],
	"a mark of the byte order": [(s) => `\ufeff${s}`, plain],
	"characters without a width": [(s) => `a\u200b${s}\u200b`, plain],
	"a soft hyphen": [(s) => `${s.slice(0, 8)}\u00ad${s.slice(8)}`, plain],
	"cat -n": [(s) => eachLine((line, at) => `${String(at + 1).padStart(6)}\t${line}`)(`a\n${s}\nb`)],
	"lines of a tool": [
		(s) => eachLine((line, at) => `${String(at + 1).padStart(6)}→${line}`)(`a\n${s}\nb`),
	],
	"numbered lines": [(s) => eachLine((line, at) => `${at + 9}: ${line}`)(`a\n${s}\nb`)],
	"grep -n": [(s) => eachLine((line, at) => `src/key.pem:${at + 1}:${line}`)(s)],
	quoted: [eachLine((line) => `> ${line}`)],
	"quoted twice": [eachLine((line) => `> > ${line}`)],
	added: [(s) => `@@ -1 +1,2 @@\n${eachLine((line) => `+${line}`)(s)}\n a`],
	removed: [(s) => `@@ -1,2 +1 @@\n${eachLine((line) => `-${line}`)(s)}\n a`],
	"comments of a shell": [eachLine((line) => `# ${line}`)],
	"comments of C": [eachLine((line) => `// ${line}`)],
	"a block of comments": [(s) => `/*\n${eachLine((line) => ` * ${line}`)(s)}\n */`],
	"git blame": [eachLine((line, at) => `1a2b3c4d (me 2026-01-02 ${at + 1}) ${line}`)],
	indented: [eachLine((line) => `\t\t${line}`)],
	"lines of Windows": [(s) => `a\n${s}\nb`.replaceAll("\n", "\r\n")],
	"trailing blanks": [eachLine((line) => `${line}  `)],
	"an escaped line feed": [(s) => `a\\n${s}\\nb`],
	"an escaped tab": [(s) => `a\\t${s}\\tb`],
	"an escaped quote": [(s) => `\\"${s}\\"`],
	"escaped lines of Windows": [(s) => `a\\r\\n${s}\\r\\nb`],
	"a word of 3,000": [(s) => `${"0".repeat(3000)}"${s}"${"0".repeat(3000)}`],
	twice: [(s) => `${s} and ${s}`],
	"many brackets": [(s) => `${"[".repeat(20_000)}${json(s)}${"]".repeat(20_000)}`, undone],
	"a comment for the scanner": [(s) => `// secretlint-disable\n${s}`],
};

for (const [name, [wrap, see = same]] of Object.entries(WRAPPINGS))
	test(`Redaction takes each kind of secret, and nothing else, out of ${name}`, async () => {
		const redaction = await Redaction.open();
		for (const { rule, secret, text } of KINDS) {
			const given = see(wrap(text));
			const whole = rule === "privatekey" && /-----BEGIN[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g;
			const expected = given.replaceAll(whole || secret, `[${rule}]`);
			assert.notEqual(expected, given, `${rule}: no secret in it`);
			const { content } = await redaction.clean({ content: wrap(text) });
			assert.equal(see(content), expected);
		}
	});

/** What readers of a text may see in it. */
function* readingsOf(text) {
	for (let level = text, n = 0; n < 6; n += 1, level = undone(level)) {
		yield* [level, plain(level), unquoted(level)];
		yield level.replace(/%[\dA-F]{2}/g, (found) =>
			String.fromCharCode(Number.parseInt(found.slice(1), 16)),
		);
	}
}

/** Those that do not part a token, which others then hide. */
const NESTING = Object.keys(WRAPPINGS).filter((name) => !/within|soft hyphen|width/.test(name));

test("Redaction leaves no secret in nested wrappings", async () => {
	const { below, of } = draws(seed);
	const redaction = await Redaction.open();
	let removed = 0;
	await repeatable("nested wrappings", async () => {
		for (let n = 0; n < repeats(500); n += 1) {
			const { secret, text } = of(KINDS);
			const names = Array.from({ length: 2 + below(2) }, () => of(NESTING));
			const given = names.reduce((inner, name) => WRAPPINGS[name][0](inner), text);
			const line = secret.split("\n").at(-2) ?? secret;
			try {
				const { content } = await redaction.clean({ content: given });
				const left = [...readingsOf(content)].some((reading) => reading.includes(line));
				assert.ok(!left, names.join(" in "));
				removed += 1;
			} catch (error) {
				if (error.exitCode !== 4) throw error;
				assert.ok(!error.stack.includes(line));
			}
		}
	});
	assert.ok(removed > repeats(500) / 2, `only ${removed} removed`);
});

const other = github.replace("d", "z");
const address = `mongodb://bob:${some(10)}@h.corp.net/x?y=1`;

for (const [name, value, expected] of [
	["two tokens beside each other", `${github}\\n${other} ok`, "[github]\\n[github] ok"],
	["the names of members", { [github]: 1, [other]: 2 }, { "[github]": 1, "[github 2]": 2 }],
	["a number", { account_id: 123456789012, n: 1 }, { account_id: "[aws]", n: 1 }],
	[
		"a number in JSON in JSON",
		json({ b: '{"account_id": 123456789012, "x": 9007199254740993}' }),
		json({ b: '{"account_id": "[aws]", "x": 9007199254740993}' }),
	],
	[
		"members of one name",
		`{"a":"${github}","a":"x",  "n":1.0e0}`,
		'{"a":"[github]","a":"x",  "n":1.0e0}',
	],
	[
		"a name and a value",
		{ name: "SECRET_ACCESS_KEY", value: some(40) },
		{ name: "SECRET_ACCESS_KEY", value: "[aws]" },
	],
	[
		"a list of lines",
		{ a: PEM.pkcs8.split("\n") },
		{ a: PEM.pkcs8.split("\n").map(() => "[privatekey]") },
	],
	[
		"the console's table",
		`Access key ID,Secret access key\r\n${awsId},${some(40)}`,
		"Access key ID,Secret access key\r\n[aws],[aws]",
	],
	[
		"a token known from elsewhere",
		[`_authToken=${some(24)}`, `x${some(24)}y`],
		["_authToken=[npm]", "x[npm]y"],
	],
	[
		"an address in JSON",
		json({ a: address, b: "c@d" }),
		json({ a: "[database-connection-string]", b: "c@d" }),
	],
	[
		"addresses beside each other",
		json([address, address, address.replace("bob", "eve")]),
		json([
			"[database-connection-string]",
			"[database-connection-string]",
			address.replace(/bob:\w+/, "eve:[address]"),
		]),
	],
	["surrogates without their half", `\ud800 ${github} \udc00`, "\ud800 [github] \udc00"],
	[
		"a member __proto__",
		JSON.parse(`{"__proto__":{"x":"${npm}"}}`),
		JSON.parse('{"__proto__":{"x":"[npm]"}}'),
	],
	[
		"a key of PuTTY",
		`Private-Lines: 2\n${some(64)}\n${some(20)}=\nPrivate-MAC: ${"0".repeat(40)}\nb`,
		"[privatekey]\nb",
	],
	["a long word", `${"0".repeat(200_000)}/${github}`, `${"0".repeat(200_000)}/[github]`],
])
	test(`Redaction replaces secrets in ${name}`, async () => {
		const redaction = await Redaction.open();
		assert.deepEqual(await redaction.clean({ value }), { value: expected });
	});

for (const text of [
	'if (a.includes("-----BEGIN RSA PRIVATE KEY-----")) throw new Error("a key in /some/long/path/x1Yz")',
	"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg...\n-----END PRIVATE KEY-----",
	// biome-ignore lint/suspicious/noTemplateCurlyInString: as in settings
	"postgres://app:${DB_PASSWORD}@db/x redis://:password@h amqp://guest:guest@h http://user:pass@h:1",
	'{"a":"mongodb://h1","b":"x@y"}',
	// biome-ignore lint/suspicious/noTemplateCurlyInString: as in settings
	"_authToken=[npm], _authToken=${NPM_TOKEN} and [github]",
	"SECRET_ACCESS_KEY of commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
	`${"[".repeat(20_000)}${"]".repeat(20_000)}`,
])
	test(`Redaction leaves as it is ${text.slice(0, 40)}`, async () => {
		const redaction = await Redaction.open();
		assert.deepEqual(await redaction.clean({ text }), { text });
		assert.equal(redaction.text, "no secrets found");
	});

test("Redaction counts each secret once, in whatever form", async () => {
	const redaction = await Redaction.open();
	for (let n = 0; n < 2; n += 1)
		await redaction.clean([
			github,
			json({ a: `\n${github}` }),
			{ [github]: address },
			`see ${address}.`,
			`> ${npm}`,
		]);
	assert.equal(redaction.text, "3 secrets removed: github 1, database-connection-string 1, npm 1");
});

test("Redaction takes time in proportion to a run", async () => {
	const redaction = await Redaction.open();
	const secrets = Array.from(
		{ length: 5000 },
		(_, at) => `ghp_${String(at).padStart(36, some(36))}`,
	);
	assert.deepEqual(
		await redaction.clean(secrets),
		secrets.map(() => "[github]"),
	);
	const key = ["-----BEGIN PRIVATE KEY-----", "\n-----END PRIVATE KEY-----"];
	// What would be read again from each of its characters if a rule did so.
	for (const part of [
		..."b:// http://a:b http://a:$ \\ \\\\n \\u0041 %41 a: key: &# &quot; <br> ghp_ _authToken= xoxb-a-".split(
			" ",
		),
		...'\u001b[ \u001b] \u001b[0m mongodb://a:b@ aB3dE5 12345678:AA \ud800 {"a":" "\\"'.split(" "),
		" ",
		"\n",
		"authorization: bearer ",
		"machine a login b password ",
		"AKIAAAAAAAAAAAAAAAAA,",
		"AWS_SECRET_ACCESS_KEY: ",
		"Private-Lines: 1 a ",
		key[0],
		key[1],
		`${key[0]}${" ".repeat(39_000)}${key[1]}`,
		`${key[0]}${"aB3".repeat(12_000)}${key[1]}`,
		`${key[0]}${"aB3".repeat(12_000)}!${key[1]}`,
	]) {
		const text = part.repeat(Math.ceil(100_000 / part.length));
		await redaction.clean({ text }).catch(({ exitCode }) => assert.equal(exitCode, 4));
	}
});
