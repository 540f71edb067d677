/** Finds private keys, also behind what tools put before each line: its number, `> `, `+`, the name of a file. */

const MARK =
	/-{2,5} ?(BEGIN|END) (?:[A-Z\d]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{2,5}|Private-Lines: \d+/g;

/** What follows `Private-Lines` in a key of PuTTY. */
const PUTTY = /\s{1,9}(?:[A-Za-z\d+/=]{1,80}\s{1,9}){1,500}(?:Private-MAC: \w{40,64})?/y;

/** Forty characters of Base64 that are neither words nor a path. */
const BASE64 =
	/(?=[A-Za-z\d]{16}[A-Za-z\d+/]{24})(?=[A-Za-z]{0,15}\d)(?=[A-Z\d]{0,15}[a-z])(?=[a-z\d]{0,15}[A-Z])/;

/** The most characters between two marks, and how far from a mark a part of a key is looked for. */
const LONGEST = 40_000;
const NEAR = 600;

const tailOf = (line) => /(?<![A-Za-z\d+/=])[A-Za-z\d+/=]*$/.exec(line)[0];

/** A line with all numbers alike: an empty one has the beginning of the next one. */
const shapeOf = (line) => line.replace(/\d{1,9}/g, "0");

/** The Base64 of a key, if each of the lines between its marks ends with some, or is a header. */
function bodyOf(text) {
	if (text.length > LONGEST || !BASE64.test(text)) return undefined;
	const parts = text.split(/[\r\n"]+/);
	// The last one is what tools put before the mark.
	const lines = (parts.length > 1 ? parts.slice(0, -1) : text.split(/\s+/))
		.map((line) => line.replace(/[\s,\\]{1,20}$/, ""))
		.filter((line) => /[A-Za-z\d]/.test(line));
	const isFit = (line, at) =>
		tailOf(line).length >= 30 ||
		/(?<![\w-])[\w-]{3,20}: \S.{0,200}$/.test(line) ||
		shapeOf(lines[at + 1] ?? "").startsWith(shapeOf(line)) ||
		(at >= lines.length - 2 && tailOf(line) !== "");
	return lines.every(isFit) ? lines.map(tailOf).join("") : undefined;
}

/** Returns the whole private keys of a text, `{ rule, start, end, secret }`, and whether it has what looks like a part of one. */
function keysIn(text) {
	const whole = [];
	let isPart = false;
	let begin;
	const look = (start, end) => {
		isPart ||= BASE64.test(text.slice(Math.max(0, start), end));
	};
	const add = (start, end, secret) => whole.push({ rule: "privatekey", start, end, secret });
	for (const { 0: mark, 1: kind, index } of text.matchAll(MARK)) {
		const end = index + mark.length;
		const body = kind === "END" && begin ? bodyOf(text.slice(begin.end, index)) : undefined;
		if (body !== undefined) add(begin.start, end, body);
		else if (kind === undefined) {
			PUTTY.lastIndex = end;
			const found = PUTTY.exec(text)?.[0] ?? "";
			if (BASE64.test(found)) add(index, end + found.length, found);
			else look(end, end + NEAR);
		} else {
			if (begin) look(begin.end, Math.min(index, begin.end + NEAR));
			if (kind === "END") look(Math.max(begin?.end ?? 0, index - NEAR), index);
		}
		begin = kind === "BEGIN" ? { start: index, end } : undefined;
	}
	if (begin) look(begin.end, begin.end + NEAR);
	return { whole, isPart };
}

module.exports = { keysIn };
