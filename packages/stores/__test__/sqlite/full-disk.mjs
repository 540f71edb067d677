/** Fills the file system that has the file, makes room, and prints what happened. */
import { rmSync, writeFileSync } from "node:fs";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { adds, Reader } from "../../conformance/fixture.js";

const [path] = process.argv.slice(2);
writeFileSync(`${path}.ballast`, Buffer.alloc(600_000));
const store = new SqliteStore({ path });
const reader = new Reader(store);
const batch = adds(8);
let before = 0;
let error;
while (!error) {
	const entries = batch.map((entry) => ({ ...entry, ...adds(1)[0] }));
	try {
		await reader.append(entries);
		before += entries.length;
	} catch (thrown) {
		error = thrown;
	}
}
rmSync(`${path}.ballast`);
await reader.append(adds(1));
const again = new Reader(store);
await again.read();
await store.close();
const { code, message, cause } = error;
const after = again.entries.length;
process.stdout.write(JSON.stringify({ code, message, path, cause: cause?.code, before, after }));
