/** Finds tokens by the rules of Secretlint's preset, an optional peer, and by some that it lacks. */
const { Exit } = require("../exit.js");

const PRESET = "@secretlint/secretlint-rule-preset-recommend";

/** A failure after which nothing may be written. Its message never has a text of a log, so it has no cause. */
class RedactionError extends Error {
	exitCode = Exit.UNAVAILABLE;
}

const refusal = (why) => new RedactionError(`${why}, so nothing is written`);

/** What to throw for an error. The messages of others may have the secret. */
const refusalOf = (error) =>
	error instanceof RedactionError ? error : refusal(`the scanner failed (${error.name})`);

/** What may stand between the name of a secret and the secret: punctuation, quotes, tags, `"value":`. */
const BETWEEN = String.raw`\W{1,40}(?:\w{1,10}\W{1,20}){0,2}?`;

/** A secret key of AWS: neither a hash, nor the one in its documentation. */
const AWS_KEY = String.raw`((?=\S{0,39}\d)(?=\S{0,39}[a-z])(?=\S{0,39}[A-Z])(?!\S{0,33}EXAMPLEKEY)[A-Za-z\d/+]{40})(?![A-Za-z\d/+=])`;

/** A password that only says what it stands for, or a variable. */
const PLACEHOLDER =
	/^(?:\w{0,9}(?:pass(?:word|wd)?|pwd?|secret|token|user|example|changeme)|postgres|root|admin|guest|test|x+|\*+|\.+|\$[A-Za-z_].*|.*(?:\$[{(]|\{\{|<|%[A-Z_]+%).*)$/i;

/** The first group is the secret. Quantifiers have bounds, so that time is in proportion to the text. */
const OWN = [
	[
		"address",
		/\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s:/?#@"'`<>\\]{0,200}:([^\s/@"'`<>\\[\]()]{4,200})@[\w[]/gi,
	],
	["address", /\bhttps?:\/\/([\w-]{20,200}):(?:x-oauth-basic)?@\w/gi],
	["anthropic", /(?<![A-Za-z\d])(sk-ant-[a-z]{2,6}\d\d-[\w-]{60,200})/g],
	[
		"authorization",
		/\b(?:authorization\W{1,12}(?:bearer|basic|token)|bearer)\s{1,3}((?=[\w+/=.~-]{0,60}\d)[\w+/=.~-]{16,4000})/gi,
	],
	[
		"aws",
		/(?<![A-Za-z\d])((?:A3T[A-Z\d]|AKIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ASIA)(?!IOSFODNN7EXAMPLE)[A-Z\d]{16})(?![A-Za-z\d])/g,
	],
	["aws", /account_?(?:id)?\W{1,12}(\d{4}-?\d{4}-?\d{4})(?![\w-])/gi],
	[
		"aws",
		new RegExp(
			`(?:SECRET|[Ss]ecret)_?(?:ACCESS|[Aa]ccess)_?(?:KEY|[Kk]ey)${BETWEEN}${AWS_KEY}`,
			"g",
		),
	],
	["aws", new RegExp(String.raw`(?:AKIA|ASIA)[A-Z\d]{16}\W{1,9}${AWS_KEY}`, "g")],
	["azure", /AccountKey\W{1,9}([A-Za-z\d+/]{86}==)/gi],
	["digitalocean", /(?<![A-Za-z\d])(do[opr]_v1_[a-f\d]{64})/g],
	["discord", /(?<![\w.])([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w.-])/g],
	["github", /(gh[pousr]_[A-Za-z\d]{36,255})/g],
	["google", /(?<![A-Za-z\d])(AIza[\w-]{35}(?![\w-])|ya29\.[\w-]{40,2000}|GOCSPX-[\w-]{28})/g],
	["huggingface", /(?<![A-Za-z\d])((?:hf|api_org)_[A-Za-z\d]{34})(?![A-Za-z\d])/g],
	[
		"netrc",
		/\bmachine\s{1,9}\S{1,100}\s{1,9}login\s{1,9}\S{1,100}\s{1,9}password\s{1,9}([\w!#$%*+./:=?@^~-]{6,200})/g,
	],
	["npm", /_auth(?:Token)?[^\w%]{1,9}([A-Za-z\d+/_=-]{20,500})/g],
	["openrouter", /(?<![A-Za-z\d])(sk-or-v1-[\da-f]{64})/g],
	["pypi", /(?<![A-Za-z\d])(pypi-AgE[\w-]{50,1000})/g],
	["sendgrid", /(?<![\w.])(SG\.[\w-]{22}\.[\w-]{43})(?![\w-])/g],
	[
		"stripe",
		/(?<![A-Za-z\d])((?:[sr]k_(?:live|test)_[A-Za-z\d]{16,255}|whsec_[A-Za-z\d+/=]{24,99}))/g,
	],
	["telegram", /(?<!\w)(\d{8,10}:AA[\w-]{33})(?![\w-])/g],
];

function* foundByOwn(text) {
	for (const [rule, pattern] of OWN)
		for (const match of text.matchAll(pattern)) {
			const secret = match[1];
			if (rule === "address" && PLACEHOLDER.test(secret)) continue;
			const start = match.index + match[0].lastIndexOf(secret);
			yield { rule, start, end: start + secret.length };
		}
}

/** What ends a URL behind its password: quotes and tags, punctuation before them or at the end. */
const END = /["'`\\<>|]|&(?:#|\w{2,4};)|[)\]}.,;:!?]+(?:["'`\\<>|]|$)/;

/** The place of what a rule of the preset reports; undefined if that is none. */
function placeOf(text, { message: { data }, range: [start, end] }) {
	// A range may begin at the name of the secret, and have the length of the secret.
	const [given = ""] = Object.values(data ?? {}).filter((value) => typeof value === "string");
	const at = given === "" ? -1 : text.slice(start, end + 300).indexOf(given);
	if (at >= 0) [start, end] = [start + at, start + at + given.length];
	const found = text.slice(start, end);
	if (found.includes("\n")) return { start, end };
	if (/^[a-z+:]{2,20}:\/\//i.test(found)) {
		const host = found.indexOf("@") + 1;
		// A password may have quotes, but neither does it end a member nor was it replaced before.
		if (/["'`]\s*[,:}\]]|:\[[\w-]+\]@/.test(found.slice(0, host))) return undefined;
		const length = found.slice(host).search(END);
		return { start, end: length < 0 ? end : start + host + length };
	}
	// Of some tokens, rules know only the beginning.
	const [rest] = /^[\w-]*/.exec(text.slice(end, end + 300));
	return { start, end: end + rest.length };
}

/** Made-up tokens, which a preset must find. */
const CANARIES = (() => {
	const some = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5";
	const slack = ["xoxb", "123456789012", "1234567890123", some.slice(12)].join("-");
	return [`ghp_${some}`, `npm_${some}`, slack];
})();

async function foundByPreset(rules, content) {
	const found = [];
	for (const { meta, create } of rules) {
		const rule = meta.id.replace(/^@secretlint\/secretlint-rule-/, "");
		// Comments in a log must not switch rules off.
		if (rule === "filter-comments") continue;
		const context = {
			createTranslator: () => (messageId, data) => ({ messageId, data }),
			report(report) {
				const place = placeOf(content, report);
				if (place) found.push({ rule, ...place });
			},
		};
		const source = { content, contentType: "text", filePath: "run.txt", ext: ".txt" };
		await create(context, {}).file?.(source);
	}
	return found;
}

/**
 * Resolves to a function that resolves to the tokens in a text, `{ rule, start, end }`, which may overlap.
 * @throws {RedactionError} if the preset is not installed, or does not find made-up tokens
 */
async function openScanner() {
	const { creator } = await import(PRESET).catch(({ code, name }) => {
		throw refusal(`--redact needs ${PRESET}, installed beside kp-score (${code ?? name})`);
	});
	const rules = [];
	creator.create({ registerRule: (rule) => rules.push(rule) });
	for (const token of CANARIES) {
		const found = await foundByPreset(rules, `a ${token} b`);
		if (!found.some(({ start, end }) => start === 2 && end === 2 + token.length))
			throw refusal(`${PRESET} does not find a made-up token`);
	}
	return async (text) => [...foundByOwn(text), ...(await foundByPreset(rules, text))];
}

module.exports = { openScanner, refusal, refusalOf };
