/** Writing to terminals: colours, escaped control characters, masked passwords. */
const { randomUUID } = require("node:crypto");
const { styleText } = require("node:util");

/** Control characters and bidirectional controls, except line feeds. */
const UNSAFE = /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Delimits styled text until it is written. It is random, so text from outside cannot contain it. */
const MARK = randomUUID();

/** Marks text to be styled if the stream shows colours. Styles cannot be nested. */
const style = (format, text) => `${MARK}${format}${MARK}${text}${MARK}`;

/** Text with its styles applied and control characters escaped as in JSON, where it stays the same value. */
function shown(text, stream) {
	// Node.js has styleText from 20.12 on. NO_COLOR counts in hasColors().
	const isColoured = stream.isTTY === true && stream.hasColors() && styleText;
	const parts = text.split(MARK).map((part) => part.replace(UNSAFE, escaped));
	return parts
		.map((part, index) => {
			if (index % 3 === 1) return "";
			return index % 3 === 2 && isColoured ? styleText(parts[index - 1], part) : part;
		})
		.join("");
}

/** Text in which the user information and passwords of URLs are replaced by `***`. */
function masked(text) {
	return text
		.replace(/\b([a-z][a-z\d+.-]{1,30}:[/\\]+)[^\n]*@/gi, "$1***@")
		.replace(/([?&][^=&\s]*pass[^=&\s]*=)[^&#\s]*/gi, "$1***");
}

/** Writes a message to standard error. Lines after the first are indented, so they cannot pass for other messages. */
function say(message) {
	const text = message.split(MARK).map(masked).join(MARK).replaceAll("\n", "\n  ");
	process.stderr.write(`${shown(text, process.stderr)}\n`);
}

const warn = (text) => say(`${style("yellow", "warning:")} ${text}`);

module.exports = { masked, say, shown, style, warn };
