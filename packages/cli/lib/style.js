/** Text for people: widths, numbers. */
const WIDE =
	/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;

/** Text of a log, in one line and without what a terminal would obey. */
function plain(text) {
	return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

/** As much of a text as fits into a number of columns. */
function fit(text, columns) {
	let used = 0;
	const kept = [];
	for (const character of plain(text)) {
		used += WIDE.test(character) ? 2 : 1;
		if (used > columns) return `${kept.slice(0, -1).join("").trimEnd()}…`;
		kept.push(character);
	}
	return kept.join("");
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

const count = (n, name) => `${n.toLocaleString("en")} ${name}${n === 1 ? "" : "s"}`;

/** Such as `1.9 s`. */
function duration(ms) {
	if (ms < 1000) return `${ms.toFixed(0)} ms`;
	return ms < 60_000
		? `${(ms / 1000).toFixed(1)} s`
		: `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Such as `success_unknown 3, no_steps 1`, the most frequent first. */
function tally(counts) {
	return Object.entries(counts)
		.sort(([, a], [, b]) => b - a)
		.map(([name, n]) => `${name} ${n.toLocaleString("en")}`)
		.join(", ");
}

const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

module.exports = {
	count,
	duration,
	fit,
	percent,
	plain,
	signed,
	tally,
};
