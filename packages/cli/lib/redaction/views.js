/** A line of JSON as its readers may see it: with escapes undone, without colours. Each place leads back to the line. */

const ESCAPES =
	String.raw`u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[0-3][0-7]{2}|\r?\n|[nrtbfve"'${"`"}$/` +
	"]";

/** Escapes of one level, and those of any. The beginning of a run is looked for, so that a long one is read once. */
const ESCAPED = new RegExp(String.raw`\\(?:\\|${ESCAPES})`, "g");
const ESCAPED_OFTEN = new RegExp(String.raw`(?<!\\)\\+(?:${ESCAPES})`, "g");

/** Those of the line itself, and the quotes of its strings: each string becomes lines of its own. */
const IN_LINE = new RegExp(`${ESCAPED.source}|"`, "g");

/** Control sequences of terminals, as they are or as `^[[0m`, and characters without a width. */
const UNSEEN =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	/(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\)|\u001b[@-Z^_]|\^\[\[[\d;]{0,20}[A-Za-z]|[\u00ad\u200b-\u200f\u2060\ufeff]/g;

const ENTITY =
	/%[\da-f]{2}|&#(?:\d{1,7}|x[\da-f]{1,6});|&(?:quot|apos|amp|lt|gt|nbsp);|<br ?\/?>/gi;

const MEANINGS = new Map([
	['"', "\n"],
	["\\\\", "\\"],
	["\\n", "\n"],
	["\\r", "\r"],
	["\\t", "\t"],
	["\\b", " "],
	["\\f", " "],
	["\\v", " "],
	["\\e", "\u001b"],
	["&quot;", '"'],
	["&apos;", "'"],
	["&amp;", "&"],
	["&lt;", "<"],
	["&gt;", ">"],
	["&nbsp;", " "],
]);

const NUMBERS = [
	[/^(?:\\[ux]\{?|%|&#x)([\da-f]+)/i, 16],
	[/^\\(\d{3})$/, 8],
	[/^&#(\d+)/, 10],
];

/** What an escape or an entity stands for. */
function meaningOf(found) {
	if (MEANINGS.has(found)) return MEANINGS.get(found);
	const one = found.replace(/^\\+(?=\\)/, "");
	if (MEANINGS.has(one.toLowerCase())) return MEANINGS.get(one.toLowerCase());
	for (const [form, base] of NUMBERS) {
		const code = Number.parseInt(form.exec(one)?.[1], base);
		if (code >= 0) return code <= 0x10ffff ? String.fromCodePoint(code) : found;
	}
	if (one.startsWith("<")) return "\n";
	return one.slice(1).trim();
}

/** The index of the last of sorted numbers that is at most `most`. */
function lastAt(numbers, most) {
	let [low, high] = [0, numbers.length - 1];
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (numbers[middle] <= most) low = middle;
		else high = middle - 1;
	}
	return low;
}

/** A text, and where its stretches stand in the text that it was made of. */
class View {
	#below;
	/** Where each stretch begins here, where below, and how long it is there if it was replaced. */
	#at = [0];
	#from = [0];
	#length = [0];

	constructor(text, below) {
		this.text = text;
		this.#below = below;
	}

	/** The view with each match replaced; undefined if there is none. */
	replaced(pattern, replace) {
		const view = new View("", this);
		const parts = [];
		let [copied, length] = [0, 0];
		for (const { 0: found, index } of this.text.matchAll(pattern)) {
			const to = replace(found);
			parts.push(this.text.slice(copied, index), to);
			length += index - copied;
			copied = index + found.length;
			view.#at.push(length, length + to.length);
			view.#from.push(index, copied);
			view.#length.push(found.length, 0);
			length += to.length;
		}
		if (parts.length === 0) return undefined;
		view.text = parts.join("") + this.text.slice(copied);
		return view;
	}

	/** Where a range of this text stands in the line. */
	rangeInLine(start, end) {
		if (!this.#below) return [start, end];
		const [first, last] = [lastAt(this.#at, start), lastAt(this.#at, end - 1)];
		return this.#below.rangeInLine(
			this.#from[first] + (this.#length[first] ? 0 : start - this.#at[first]),
			this.#from[last] + (this.#length[last] || end - this.#at[last]),
		);
	}
}

/** How often escapes are undone one by one, after those of the line. */
const LEVELS = 3;

/** Yields a view as it is and without what is unseen, and what further escapes and entities stand for. */
function* readingsOf(view, depth = 0, isDecoded = false) {
	yield view;
	const seen = view.replaced(UNSEEN, () => "");
	if (seen) yield* [seen, view.replaced(UNSEEN, () => " ")];
	const next =
		depth <= LEVELS && view.replaced(depth < LEVELS ? ESCAPED : ESCAPED_OFTEN, meaningOf);
	if (next) yield* readingsOf(next, depth + 1, isDecoded);
	const decoded = !isDecoded && view.replaced(ENTITY, meaningOf);
	if (decoded) yield* readingsOf(decoded, depth, true);
}

/** Yields the views of a line of JSON. */
function* viewsOf(line) {
	const texts = new View(line).replaced(IN_LINE, meaningOf);
	if (texts) yield* readingsOf(texts);
}

module.exports = { viewsOf };
