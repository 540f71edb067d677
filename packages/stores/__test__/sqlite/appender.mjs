/**
 * A process that appends batches to the store of a file until it is told to stop. It sends the calls of
 * each batch before and after `append`, and at last all calls that its mirror has.
 */
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { adds, callsOf, Reader } from "../../conformance/fixture.js";

const [path] = process.argv.slice(2);
const store = new SqliteStore({ path });
const reader = new Reader(store);

let isStopped = false;
process.on("message", () => {
	if (isStopped) finish();
	isStopped = true;
});

async function finish() {
	await reader.read();
	await new Promise((sent) => process.send({ mirror: reader.calls }, sent));
	process.disconnect();
	await store.close();
}

for (let size = 1; !isStopped; size = (size % 9) + 1) {
	const batch = adds(size);
	const sending = callsOf(batch);
	await new Promise((sent) => process.send({ sending }, sent));
	await reader.append(batch, { limit: 50 });
	process.send({ appended: sending });
}
process.send({ stopped: true });
