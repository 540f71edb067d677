/** Copies what the files of the formats say of themselves into the types and docs/logs.md, before each build. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail, root } from "./lib/run.mjs";

const FORMATS = "crates/import/src/formats";
const EVIDENCE = ["captured", "source", "written"];

const read = (path) => readFileSync(join(root, path), "utf8");

/** The formats in the order of detection: a name, and the rest of its row, without what a run is. */
function formats() {
	const [, list] = /^formats! \{([^}]*)\}/m.exec(read(`${FORMATS}/mod.rs`));
	return list.match(/\w+/g).map((module) => {
		const file = [`${module}.rs`, `${module}/mod.rs`].map((name) => `${FORMATS}/${name}`);
		const path = file.find((name) => existsSync(join(root, name)));
		const text = read(path);
		const [, name] = / FORMAT: [^"]*"([^"]+)"/.exec(text) ?? fail(`${path}: expected a FORMAT`);
		const [, written, success] =
			/^\/\/! \| ([^|]*) \|[^|]*\|([^|]*)\|$/m.exec(text) ??
			fail(`${path}: expected "//! | written by | a run is | success comes from |"`);
		const sources = [...text.matchAll(/^\/\/! - (.*)$/gm)].map(([, source]) => source);
		for (const source of sources.length ? sources : ["nothing"]) {
			const [, version, date, evidence] = source.split("|").map((cell) => cell.trim());
			if (version === undefined || !/^\d{4}-\d\d-\d\d$/.test(date) || !EVIDENCE.includes(evidence))
				fail(
					`${path}: expected "//! - learnt from | version | date | ${EVIDENCE.join(" or ")}", found ${source}`,
				);
		}
		return { name, row: `${written} |${success}|` };
	});
}

/** Returns the files that have something of the formats, as they have to be. */
export function filesOfFormats() {
	const all = formats();
	const table = (head, rows) =>
		[head, head.map(() => "---")]
			.map((cells) => `| ${cells.join(" | ")} |`)
			.concat(rows)
			.join("\n");
	const [types, docs] = ["lib/types/logs.d.ts", "docs/logs.md"];
	const names = all.map(({ name }) => `\t"${name}",\n`).join("");
	const rows = all.map(({ name, row }) => `| \`${name}\` | ${row}`);
	const head = ["format", "written by", "success comes from"];
	return {
		[types]: read(types).replace(/(LOG_FORMATS: readonly \[\n)[^\]]*/, `$1${names}`),
		[docs]: read(docs).replace(
			/(<!-- formats -->\n)[^<]*/,
			(_, begin) => `${begin}${table(head, rows)}\n`,
		),
	};
}

/** Writes these files. */
export function writeFormats() {
	for (const [path, text] of Object.entries(filesOfFormats()))
		if (read(path) !== text) writeFileSync(join(root, path), text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFormats();
