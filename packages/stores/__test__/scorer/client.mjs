/** A process with a scorer on a store, which runs the tasks of its parent (`processes.mjs`). */
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { answerOf, Load, SCORER, traceOf } from "./replay.mjs";

let pool;
let store;
let scorer;
let load;

function openStore({ postgres, ...options }) {
	if (!postgres) return new SqliteStore(options);
	pool ??= new pg.Pool({ ...postgres, max: 2 }).on("error", () => {});
	return new PostgresStore({ pool, ...options });
}

const tasks = {
	async open(place, options) {
		scorer?.close();
		await store?.close();
		store = openStore(place);
		scorer = new Scorer({ ...SCORER, ...options, store });
	},
	/** Scores in this order, `width` at a time. */
	async score(ids, width = ids.length) {
		const rest = [...ids];
		const answers = [];
		const lane = async () => {
			while (rest.length > 0) answers.push(await answerOf(scorer, rest.shift()));
		};
		await Promise.all(Array.from({ length: width }, lane));
		return answers;
	},
	/** So that later calls reach the store at once. */
	async embed(ids) {
		await Promise.all(ids.map((id) => scorer.embed(traceOf(id))));
	},
	/** Sends every answer. */
	async load(name, options) {
		const onAnswer = (answer) => process.send({ answer });
		load = new Load(scorer, name, { ...options, onAnswer });
	},
	async stop() {
		await load.stop();
	},
};

process.on("message", async ({ number, task, parameters }) => {
	try {
		const result = await tasks[task](...parameters);
		process.send({ number, result });
	} catch ({ stack }) {
		process.send({ number, failure: stack });
	}
});
process.on("disconnect", () => process.exit());
