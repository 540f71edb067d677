/** PGlite, PostgreSQL compiled to WebAssembly, behind a socket that `pg` can connect to. */
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

/** Starts one with an empty database; returns `config` for a pool of `pg`, and `stop()`. */
export async function startPglite() {
	const db = await PGlite.create();
	const server = new PGLiteSocketServer({ db, port: 0, maxConnections: 20 });
	await server.start();
	const [host, port] = server.getServerConn().split(":");
	return {
		config: { host, port: Number(port), user: "postgres" },
		async stop() {
			await server.stop();
			await db.close();
		},
	};
}
