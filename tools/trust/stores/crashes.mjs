/** What happens to a server. */
import { setTimeout as sleep } from "node:timers/promises";

const TERMINATE =
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

const faults = {
	"server killed": async ({ server }) => {
		await server.kill();
		await server.start();
	},
	/** Longer than calls wait. */
	"server stopped for 2 s": async ({ server }) => {
		server.freeze();
		await sleep(2_000);
		server.thaw();
	},
	"connections terminated": ({ server }) => server.query(TERMINATE),
};

export const CRASHES = Object.keys(faults);

/** Does all of it to the server of a store, one after the other. */
export async function crashing(store) {
	for (const fault of Object.values(faults)) {
		await sleep(2_000);
		await fault(store);
	}
}
