/**
 * Processes that share a log, killed at random, and a server that crashes, hangs and loses connections.
 * `--seed N` chooses the same victims.
 */
import { missing } from "../../packages/stores/__test__/support/postgres.mjs";
import { draws, seedOfRun } from "./lib/draw.mjs";
import { finding } from "./lib/finding.mjs";
import { main } from "./lib/main.mjs";
import { CRASHES, crashing } from "./stores/crashes.mjs";
import { PROCESSES, underKills } from "./stores/kills.mjs";
import { file, postgres } from "./stores/stores.mjs";

export const title = "Stores";

export async function run({ short, log }) {
	const seed = seedOfRun();
	log(`seed ${seed}`);
	const draw = draws(seed);
	const ms = short ? 10_000 : 60_000;

	async function row(name, open, disturb) {
		const store = await open();
		try {
			const found = await underKills(store, { ms, draw, disturb });
			const { kills, seconds, entries, stored, failed, disturbed } = found;
			const faults = disturb ? `, ${disturbed} × ${CRASHES.join(", ")}` : "";
			const lost = disturb ? `, ${failed} calls without the store` : "";
			const result = {
				what: `${PROCESSES} processes share ${name}`,
				tried: `${kills} killed in ${seconds} s${faults}`,
				found: `${entries} entries without a gap, no call twice; ${stored} scores as of one process, bit for bit${lost}`,
			};
			log(`${result.what}: ${result.tried}: ${result.found}`);
			return result;
		} catch (error) {
			throw finding(error, `${name}, --seed ${seed}`);
		} finally {
			await store.stop();
		}
	}

	const rows = [await row("a file", file)];
	if (missing) {
		rows.push({ what: "PostgreSQL", tried: "nothing", found: missing });
		return rows;
	}
	rows.push(await row("PostgreSQL", postgres));
	if (!short) rows.push(await row("PostgreSQL that fails", postgres, crashing));
	return rows;
}

await main(import.meta.url, { title, run });
