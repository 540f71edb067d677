/** Removes secrets from values of JSON: each is a range of the line that the value is written as, and all else stays. */
const { count, tally } = require("../terminal.js");
const { keysIn } = require("./keys.js");
const { openScanner, refusal, refusalOf } = require("./rules.js");
const { viewsOf } = require("./views.js");

/** The lengths of secrets that are removed also where no rule knows them, such as without their names. */
const [LEAST, MOST] = [16, 300];

/** What tells two secrets apart: of a URL the password. */
const coreOf = (secret) => /:\/\/[^\s:@]*:([^\s@]+)@/.exec(secret)?.[1] ?? secret;

/** Returns a function that yields where a text has known secrets, of a `Map` of their rules. */
function finderOf(rules) {
	const lengths = new Map();
	for (const secret of rules.keys()) {
		const beginning = secret.slice(0, LEAST);
		if (secret.length < LEAST || secret.length > MOST || /\s/.test(secret)) continue;
		lengths.set(beginning, (lengths.get(beginning) ?? new Set()).add(secret.length));
	}
	return function* (text) {
		for (let start = 0; lengths.size > 0 && start <= text.length - LEAST; start += 1)
			for (const length of lengths.get(text.slice(start, start + LEAST)) ?? []) {
				const rule = rules.get(text.slice(start, start + length));
				if (rule) yield { rule, start, end: start + length };
			}
	};
}

/** Yields what a range of a line has of each of its strings, or the number that it is. */
function* partsOf(line, [start, end]) {
	let [from, isWithin] = [start, true];
	for (const { 0: found, index } of line.slice(start, end).matchAll(/\\.|"/g)) {
		if (found !== '"') continue;
		if (isWithin && from < start + index) yield [from, start + index];
		[from, isWithin] = [start + index + 1, !isWithin];
	}
	if (isWithin && from < end) yield [from, end];
}

/** Ranges without overlaps, from left to right; of those that overlap, the first and longest gives rule and secret. */
function merged(found) {
	const all = [];
	for (const item of found.sort((a, b) => a.range[0] - b.range[0] || b.range[1] - a.range[1])) {
		const last = all.at(-1)?.range;
		if (last && item.range[0] < last[1]) last[1] = Math.max(last[1], item.range[1]);
		else all.push(item);
	}
	return all;
}

/** What stands for a secret: in names of members with a number, because names must stay apart; for a number with its quotes. */
function labelOf(line, [start, end], rule, number) {
	const isName = /[^"\\]{0,200}\\*"\s{0,9}:/y;
	isName.lastIndex = end;
	if (number > 1 && isName.test(line)) return `[${rule} ${number}]`;
	const isNumber = /^\d+$/.test(line.slice(start, end));
	const before =
		isNumber && /(\\*")\s{0,9}:\s{0,9}$/.exec(line.slice(Math.max(0, start - 40), start));
	return before ? `${before[1]}[${rule}]${before[1]}` : `[${rule}]`;
}

function isJson(text) {
	try {
		return /^\s*[[{"]/.test(text) && JSON.parse(text) !== undefined;
	} catch {
		return false;
	}
}

/** Whether a value has all members that it had, and its texts are still JSON where they were. */
function isWhole(after, before) {
	if (typeof before === "string") return after === before || !isJson(before) || isJson(after);
	if (typeof before !== "object" || before === null) return true;
	const [now, then] = [Object.values(after), Object.values(before)];
	return now.length === then.length && then.every((member, at) => isWhole(now[at], member));
}

/** Replaces secrets by the names of their rules, and counts them. */
class Redaction {
	#tokensIn;
	#secrets = new Set();
	/** How many different secrets each rule has found. */
	counts = new Map();

	constructor(tokensIn) {
		this.#tokensIn = tokensIn;
	}

	/** @throws {RedactionError} if Secretlint is not installed, or does not find what it should */
	static open() {
		const refuse = (error) => Promise.reject(refusalOf(error));
		return openScanner().then((tokensIn) => new Redaction(tokensIn), refuse);
	}

	/** Where a line has secrets, and whether it has what looks like a part of a private key. */
	async #search(line) {
		const found = [];
		const rules = new Map();
		const add = (view, { rule, start, end, secret = view.text.slice(start, end) }) => {
			if (!(start >= 0 && start < end && end <= view.text.length))
				throw refusal(`a secret has no place: ${rule}`);
			for (const text of [secret, coreOf(secret)]) rules.set(text, rule);
			found.push({ rule, range: view.rangeInLine(start, end), secret: coreOf(secret) });
		};
		let isPart = false;
		for (const view of viewsOf(line)) {
			const keys = keysIn(view.text);
			isPart ||= keys.isPart;
			for (const item of [...keys.whole, ...(await this.#tokensIn(view.text))]) add(view, item);
		}
		const repeatsIn = finderOf(rules);
		if (found.length > 0)
			for (const view of viewsOf(line)) for (const item of repeatsIn(view.text)) add(view, item);
		return { found: merged(found), isPart };
	}

	/** Replaces what was found in a line. */
	#replaced(line, found, numbers) {
		const parts = [];
		let copied = 0;
		for (const { rule, range, secret } of found) {
			if (!this.#secrets.has(secret)) {
				this.#secrets.add(secret);
				this.counts.set(rule, (this.counts.get(rule) ?? 0) + 1);
			}
			if (!numbers.has(secret)) numbers.set(secret, numbers.size + 1);
			for (const part of partsOf(line, range)) {
				parts.push(line.slice(copied, part[0]), labelOf(line, part, rule, numbers.get(secret)));
				copied = part[1];
			}
		}
		return parts.join("") + line.slice(copied);
	}

	/**
	 * Resolves to a value of JSON without the secrets in its texts and names.
	 * @throws {RedactionError} if one stays, or may stay, or the scanner fails
	 */
	async clean(value) {
		try {
			let line = JSON.stringify(value);
			const numbers = new Map();
			// What was replaced may have hidden another one.
			for (let round = 0; ; round += 1) {
				const { found, isPart } = await this.#search(line);
				if (found.length > 0 && round === 2)
					throw refusal(`a secret could not be removed: ${found[0].rule}`);
				if (found.length > 0) line = this.#replaced(line, found, numbers);
				else if (isPart) throw refusal("a part of a private key could not be removed");
				else if (round === 0) return value;
				else break;
			}
			const clean = JSON.parse(line);
			if (isWhole(clean, value)) return clean;
			throw refusal("a secret could not be taken out of JSON");
		} catch (error) {
			throw refusalOf(error);
		}
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
