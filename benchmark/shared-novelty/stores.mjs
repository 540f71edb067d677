/** The stores that are compared. A place tells where one is, in a form that can be sent to a process. */
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";

/** Nothing shared, which the others are compared with. */
export const ALONE = "no store";

/** Returns the places of all stores, in a database of the server and in a file. */
export function placesIn(server, database, path) {
	const host = encodeURIComponent(server.folder);
	const connectionString = `postgresql://postgres@/${database}?host=${host}`;
	return {
		PostgreSQL: { connectionString },
		"PostgreSQL, commit awaited": { connectionString, durable: true },
		SQLite: { path },
	};
}

export function openStore(place, namespace) {
	return place.path
		? new SqliteStore({ ...place, namespace })
		: new PostgresStore({ ...place, namespace });
}
