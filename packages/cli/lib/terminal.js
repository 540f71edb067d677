/** Formats text for terminals, safely. */
const { WriteStream } = require("node:tty");
const { styleText } = require("node:util");

/** What the dimensions of a score are called, and their columns, by their names in reports. */
const DIMENSIONS = {
	complexity: { title: "complexity", column: "compl" },
	novelty: { title: "novelty", column: "novel" },
	toolDiversity: { title: "tool diversity", column: "tools" },
	outcomeConfidence: { title: "outcome", column: "outc" },
};

const WIDE =
	/\p{Emoji}\ufe0f|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

/** Returns text of a log in one line, without control characters, except the joiners of words and emoji. */
const plain = (text) =>
	text.replace(/(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s])+/gu, " ").trim();

let segmenter;

/** Yields what a terminal shows as one character, and its columns. */
function* cellsOf(text) {
	// Intl takes long to load.
	if (!/^[ -~]*$/.test(text)) segmenter ??= new Intl.Segmenter();
	for (const part of segmenter?.segment(text) ?? text) {
		const shown = part.segment ?? part;
		yield [shown, WIDE.test(shown) ? 2 : 1];
	}
}

function widthOf(text) {
	let width = 0;
	for (const [, columns] of cellsOf(text)) width += columns;
	return width;
}

function fit(text, columns) {
	let used = 0;
	const kept = [];
	for (const [shown, width] of cellsOf(plain(text))) {
		used += width;
		if (used > columns) return `${kept.slice(0, -1).join("").trimEnd()}…`;
		kept.push(shown);
	}
	return kept.join("");
}

/** Text in so many columns of a table. */
function cell(text, columns) {
	const shown = fit(text, columns);
	return shown + " ".repeat(columns - widthOf(shown));
}

/** A share in percent, with as many digits as tell it from another one. */
function percent(share, other = share, digits = 1) {
	const [text, beside] = [share, other].map((each) => (100 * each).toFixed(digits));
	return text === beside && share !== other ? percent(share, other, digits + 1) : `${text} %`;
}

/** A whole number with commas. Intl takes a third of the time of a command. */
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

const count = (n, name, names = `${name}s`) => `${grouped(n)} ${n === 1 ? name : names}`;

const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

/** Such as `1.9 s`. */
function duration(ms) {
	if (ms < 999.5) return `${ms.toFixed(0)} ms`;
	const seconds = Math.round(ms / 1000);
	if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`;
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Sums counts by name: such as `success_unknown 3, no_steps 1`, the most frequent first. */
function tally(counts) {
	const sums = new Map();
	for (const [name, n] of counts) sums.set(name, (sums.get(name) ?? 0) + n);
	return [...sums]
		.sort(([, a], [, b]) => b - a)
		.map(([name, n]) => `${name} ${grouped(n)}`)
		.join(", ");
}

const bar = (value) => "█".repeat(Math.round(value * 20)).padEnd(20, "░");

/** Control characters and bidirectional controls, except line feeds. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}](?<!\n)/gu;

/** Escapes what controls a terminal as in JSON, so that the value stays readable. */
const escaped = (text) =>
	text.replace(UNSAFE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A value as a line of JSON, which may be shown on a terminal later. */
const jsonLine = (value) => `${escaped(JSON.stringify(value))}\n`;

/** The value of a line of JSON; undefined if it is none. */
function parsed(line) {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}

/** Delimits styled text until it is written. Random, so that foreign text cannot contain it. */
const MARK = Math.random().toString(36);

/** Marks text to be styled if the stream shows colours. Styles cannot be nested. */
const style = (format, text) => `${MARK}${format}${MARK}${text}${MARK}`;

const STYLED = new RegExp(style("(.*?)", "(.*?)"), "gs");

/** Whether a stream shows colours; one that is no terminal, if FORCE_COLOR is set. */
function isColoured(stream) {
	// Node.js has styleText from 20.12 on.
	if (!styleText) return false;
	const isOwn = [process.stdout, process.stderr].includes(stream);
	const isForced = isOwn && process.env.FORCE_COLOR !== undefined;
	// NO_COLOR and FORCE_COLOR count in hasColors().
	return (stream.isTTY || isForced) && WriteStream.prototype.hasColors.call(stream);
}

/** Applies styles, and escapes control characters. */
function shown(text, stream) {
	const styled = isColoured(stream)
		? (_, format, part) => styleText(format, part, { validateStream: false })
		: "$2";
	return escaped(text).replace(STYLED, styled);
}

/** Parameters in URLs whose values are no secrets. */
const HARMLESS =
	/^(namespace|create|host|port|ssl\w*|application_name|channel_binding|\w*_timeout)$/i;

/** Names of settings whose values are secrets, wherever they are. */
const SECRET = /pass|pwd|secret|token|credential|key$/i;

/** Replaces what is before the last `@` from `start` on by `***`. */
function withoutUser(text, start) {
	const at = text.lastIndexOf("@");
	return at < start ? text : `${text.slice(0, start)}***${text.slice(at)}`;
}

/** Replaces users in URLs, mistyped ones too, and parameters that may be secrets by `***`, in linear time. */
function masked(text) {
	// A password may contain spaces and line feeds.
	const scheme = /[a-z][a-z\d+.-]{1,30}:[/\\]+/i.exec(text);
	const known = scheme ? withoutUser(text, scheme.index + scheme[0].length) : text;
	return known
		.replace(/\S+/g, (word) => {
			const colon = /:(?![/\\])/.exec(word);
			return colon ? withoutUser(word, colon.index + 1) : word;
		})
		.replace(/([?&#;]?)([\w.-]{1,40})=('[^'\n]{0,200}'|[^\s&#;]*)/g, (found, separator, name) =>
			SECRET.test(name) || (separator && !HARMLESS.test(name)) ? `${separator}${name}=***` : found,
		);
}

/** How the address of a server is written. */
const ADDRESS = "postgres://USER:PASSWORD@HOST";

const safeOf = (text) => text.split(ADDRESS).map(masked).join(ADDRESS);

/** The control sequence that removes the line of progress on standard error. */
let erase = "";

/** Writes a message to standard error. Further lines are indented, to tell them from other messages. */
function say(message) {
	const safe = message.split(MARK).map(safeOf).join(MARK);
	// The engine names its options as in JavaScript.
	const named = safe.replace(/set (success or )?assumeSuccess/, "set --assume-success");
	const text = named.replaceAll("\n", "\n  ");
	process.stderr.write(`${erase}${shown(text, process.stderr)}\n`);
	erase = "";
}

const warn = (text) => say(`${style("yellow", "warning:")} ${text}`);

const UNAVAILABLE = "kp-score doctor shows what is missing; --embedder off scores without novelty";

const HINTS = {
	SUCCESS_UNKNOWN: "--assume-success true, false or skip decides for such runs",
	UNKNOWN_FORMAT: "kp-score import --help lists the formats",
	MODEL_MISMATCH: "--novelty, --model and --pooling must be as when the memory or store was made",
	EMBEDDER_UNAVAILABLE: UNAVAILABLE,
	LIBRARY_UNAVAILABLE: UNAVAILABLE,
};

/** Shows what can be done about an error. Returns whether that is known. */
function hint(code) {
	if (code in HINTS) say(`${style("dim", "hint:")} ${HINTS[code]}`);
	return code in HINTS;
}

/** Such as `██░░… 10 %, 300 traces, 90/s, 30.0 s left`, or, of files that are looked into, `200 of 9,000 files`. */
function progressText({ done, total, traces, share }, elapsed) {
	if (total !== undefined) return `${grouped(done)} of ${count(total, "file")}`;
	const rate = Math.round(traces / (elapsed / 1000));
	const text = `${count(traces, "trace")}, ${grouped(rate)}/s`;
	if (share === undefined) return `${text}, ${duration(elapsed)}`;
	const left = share > 0 ? `, ${duration((elapsed / share) * (1 - share))} left` : "";
	return `${bar(share)} ${Math.floor(100 * share)} %, ${text}${left}`;
}

/** Shows what {@link progressText} takes from `stateOf()` on standard error, if that is a terminal. Returns how to end it. */
function showProgress(isWanted, stateOf) {
	const began = performance.now();
	const show = () => {
		const start = performance.now();
		const columns = (process.stderr.columns || 100) - 1;
		const text = progressText(stateOf(), start - began);
		process.stderr.write(`${erase}${fit(text, columns)}`);
		erase = "\r\u001b[K";
		// The report on very many sources takes long.
		timer = setTimeout(show, Math.max(200, 20 * (performance.now() - start)));
	};
	const isShown = isWanted && process.stderr.isTTY && process.env.TERM !== "dumb";
	let timer = isShown ? setTimeout(show, 200) : undefined;
	return () => {
		clearTimeout(timer);
		process.stderr.write(erase);
		erase = "";
	};
}

module.exports = {
	ADDRESS,
	DIMENSIONS,
	bar,
	cell,
	count,
	duration,
	fit,
	grouped,
	hint,
	jsonLine,
	masked,
	parsed,
	percent,
	plain,
	say,
	showProgress,
	shown,
	signed,
	style,
	tally,
	warn,
	widthOf,
};
