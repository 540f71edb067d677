/** Which characters Node.js and the engine know alike. */

/** The version of Unicode in the engine, by the crates that Cargo.toml pins. */
export const UNICODE = 17;

/**
 * A text that both sides know all characters of. What a character is stays the same once it is assigned,
 * so a Node.js with older tables differs in those only that they do not have: with Unicode 15 that is 89
 * marks and punctuation marks of the first two planes, with 17 none.
 */
export function comparable(text) {
	const node = Number.parseFloat(process.versions.unicode);
	return node >= UNICODE ? text : text.replace(/\p{Cn}/gu, "");
}
