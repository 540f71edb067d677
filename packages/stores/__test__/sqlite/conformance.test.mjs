import { test } from "node:test";
import { conformance } from "@knowledgepulse/scoring-stores/conformance";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { change, temporaryFile } from "./files.mjs";

const path = temporaryFile();

function age(namespace, ms) {
	change(path, "UPDATE novelty_head SET at = at - ? WHERE name = ?", ms, namespace);
	change(
		path,
		`UPDATE novelty_entries SET at = at - ? WHERE namespace =
			(SELECT namespace FROM novelty_head WHERE name = ?)`,
		ms,
		namespace,
	);
}

const open = ({ namespace }) => new SqliteStore({ path, namespace });

for (const { name, run } of conformance(open, { age })) test(`SqliteStore: ${name}`, run);
