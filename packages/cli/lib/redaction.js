/** Removes secrets from texts by Secretlint, which is an optional peer. */
const { Exit } = require("./exit.js");
const { count, tally } = require("./terminal.js");

const CORE = "@secretlint/core";
const PRESET = "@secretlint/secretlint-rule-preset-recommend";

/** Ids of keys are for nobody either. */
const CHANGES = [{ id: "@secretlint/secretlint-rule-aws", options: { enableIDScanRule: true } }];

/** What a secret ends at, if a rule names only a part of it. */
const BETWEEN = /[\s"'`<>(){}[\],;]/;

/** A failure of the scanner, after which nothing may be written. */
class RedactionError extends Error {
	exitCode = Exit.UNAVAILABLE;
}

async function scanner() {
	try {
		const [{ lintSource }, { creator: rule }] = await Promise.all([import(CORE), import(PRESET)]);
		const options = { config: { rules: [{ id: PRESET, rule, rules: CHANGES }] } };
		return async (text) => {
			// A comment in a log must not switch the scanner off. The length stays.
			const content = text.replaceAll(/secretlint-/gi, "secretlimt-");
			const source = { filePath: "run.txt", content, contentType: "text" };
			return (await lintSource({ source, options })).messages;
		};
	} catch (error) {
		throw new RedactionError(
			`--redact needs ${CORE} and ${PRESET}, installed beside kp-score: ${error.message}`,
		);
	}
}

/**
 * All that is searched in a value: its texts, the names of members, each text after its name, because a rule may know a
 * secret only by that, and JSON in a text both as it stands and as the texts in it.
 */
function textsIn(value, texts = new Set()) {
	if (typeof value === "string") {
		texts.add(value);
		const parsed = jsonIn(value);
		if (parsed !== undefined) textsIn(parsed, texts);
	} else if (typeof value === "object" && value !== null)
		for (const [name, member] of Object.entries(value)) {
			if (typeof member === "string") texts.add(`${name}: ${member}`);
			if (!Array.isArray(value)) texts.add(name);
			textsIn(member, texts);
		}
	return texts;
}

/** The object or array that a text has as JSON, such as the arguments of a call. */
function jsonIn(text) {
	if (!/^\s*[[{]/.test(text)) return undefined;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Replaces each text in a value by `change` of it. */
function changed(value, change) {
	if (typeof value === "string") {
		const parsed = jsonIn(value);
		if (parsed === undefined) return change(value);
		const result = JSON.stringify(changed(parsed, change));
		return result === JSON.stringify(parsed) ? value : result;
	}
	if (Array.isArray(value)) return value.map((element) => changed(element, change));
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, member]) => [change(name), changed(member, change)]),
	);
}

const nameOf = ({ ruleParentId, ruleId }) =>
	(ruleId ?? ruleParentId).replace(/^@secretlint\/secretlint-rule-/, "");

/** The part of a text that a rule has found, with the rest of its first and last word. */
function wordsAt(text, [start, end]) {
	let [from, to] = [start, end];
	while (from > 0 && !BETWEEN.test(text[from - 1])) from -= 1;
	while (to < text.length && !BETWEEN.test(text[to])) to += 1;
	return text.slice(from, to).trim();
}

/** The shortest line of a secret that is removed where it stands alone. */
const LEAST = 16;

/** The texts that a finding is about: its words, what the rule gives as the secret, and their lines, which may be apart. */
function secretsOf(text, { range, data = {} }) {
	const given = Object.entries(data).flatMap(([name, found]) =>
		/^[A-Z]+$/.test(name) && typeof found === "string" ? found : [],
	);
	const secrets = [wordsAt(text, range), ...given].filter((secret) => secret.trim() !== "");
	const lines = secrets.flatMap((secret) => secret.split("\n"));
	return [...secrets, ...lines.filter((line) => line.length >= LEAST)];
}

/** Replaces secrets by the names of their rules, and counts them. */
class Redaction {
	#scan;
	/** How many secrets each rule has found. */
	counts = new Map();

	/** @throws {RedactionError} if Secretlint is not installed, or fails on a text. */
	static async open() {
		const redaction = new Redaction();
		redaction.#scan = await scanner();
		await redaction.#find("");
		return redaction;
	}

	async #find(text) {
		try {
			return await this.#scan(text);
		} catch (error) {
			throw new RedactionError(`Secretlint failed, so nothing is written: ${error.message}`);
		}
	}

	/** Resolves to a value of JSON without the secrets in its texts. */
	async clean(value) {
		// A secret may be recognised only by what stands before it, so all texts are searched as one.
		const all = [...textsIn(value)].join("\n");
		const found = new Map();
		for (const message of await this.#find(all)) {
			const rule = nameOf(message);
			for (const secret of secretsOf(all, message)) found.set(secret, rule);
			this.counts.set(rule, (this.counts.get(rule) ?? 0) + 1);
		}
		if (found.size === 0) return value;
		// The longest first, because a secret may contain another one.
		const longest = [...found.keys()].sort((a, b) => b.length - a.length);
		const literal = (text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
		const any = new RegExp(longest.map(literal).join("|"), "g");
		const hide = (text) => text.replaceAll(any, (secret) => `[${found.get(secret)}]`);
		const clean = changed(value, hide);
		const left = await this.#find([...textsIn(clean)].join("\n"));
		if (left.length === 0) return clean;
		throw new RedactionError(
			`a secret could not be removed, so nothing is written: ${nameOf(left[0])}`,
		);
	}

	/** Such as `2 secrets removed: npm 1, slack 1`. */
	get text() {
		const sum = [...this.counts.values()].reduce((sum, n) => sum + n, 0);
		return sum === 0
			? "no secrets found"
			: `${count(sum, "secret")} removed: ${tally(this.counts)}`;
	}
}

module.exports = { Redaction };
