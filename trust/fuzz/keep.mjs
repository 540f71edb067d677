/**
 * Renews the kept corpora: `node trust/fuzz/keep.mjs`. Of what is kept and what long runs have found,
 * the inputs stay that no smaller ones make up for, the smallest first and up to a limit.
 */
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, execute, grown, kept, TARGETS } from "./cargo-fuzz.mjs";

/** Bytes of each corpus. */
const LIMIT = 40_000;
/** The longest input: what is longer is mostly more of the same. */
const LONGEST = 512;

const program = await build(console.log);
for (const target of Object.keys(TARGETS)) {
	const merged = mkdtempSync(join(tmpdir(), `${target}-`));
	const sources = [kept(target), grown(target)].filter(existsSync);
	const { code, output } = await execute(program, [
		...["run", target, merged, ...sources, "--"],
		...["-set_cover_merge=1", `-max_len=${LONGEST}`],
	]);
	if (code !== 0) throw new Error(output);
	const sized = readdirSync(merged).map((name) => {
		const { size } = statSync(join(merged, name));
		return { name, size };
	});
	sized.sort((a, b) => a.size - b.size || (a.name < b.name ? -1 : 1));
	rmSync(kept(target), { recursive: true, force: true });
	mkdirSync(kept(target), { recursive: true });
	let total = 0;
	let count = 0;
	for (const { name, size } of sized) {
		total += size;
		if (total > LIMIT) break;
		copyFileSync(join(merged, name), join(kept(target), name));
		count += 1;
	}
	rmSync(merged, { recursive: true });
	console.log(`${target}: ${count} of ${sized.length} inputs kept`);
}
