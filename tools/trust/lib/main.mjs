/** Runs a part by itself: `node tools/trust/<part>.mjs [--short]`. */
import { fileURLToPath } from "node:url";

/** Runs `part` if the module at `url` is the program; a finding ends the process with code 1. */
export async function main(url, part) {
	if (process.argv[1] !== fileURLToPath(url)) return;
	const short = process.argv.includes("--short");
	const rows = await part.run({ short, log: (line) => console.log(line) });
	// run.mjs prints the table itself.
	if (process.send) return process.send({ title: part.title, rows });
	console.log(`\n${part.title}`);
	for (const { what, tried, found } of rows) console.log(`  ${what}: ${tried}: ${found}`);
}
