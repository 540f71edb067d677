/** The store of one namespace, in SQL. Every method is one transaction. */
const { randomUUID } = require("node:crypto");
const { checkSchema } = require("./file.js");

/** How long a caller may retry a call. */
const REPETITION_MS = 60_000;

// Times are read as REAL, because the binding refuses integers that are not safe.
const STATEMENTS = {
	names: "SELECT name FROM novelty_head ORDER BY name",
	head: `SELECT namespace, header, epoch, seq, first, CAST(at AS REAL) AS at
		FROM novelty_head WHERE name = ?`,
	create:
		"INSERT INTO novelty_head (name, header, epoch, seq, first, at) VALUES (?, ?, ?, 0, 1, 0)",
	update: "UPDATE novelty_head SET epoch = ?, seq = ?, first = ?, at = ? WHERE namespace = ?",
	ends: `SELECT min(seq) AS first, max(seq) AS newest, count(*) AS count, CAST(max(at) AS REAL) AS at
		FROM novelty_entries WHERE namespace = ?`,
	// Upwards, so that no number is taken twice meanwhile.
	renumber: `UPDATE novelty_entries SET seq = found.number FROM (
			SELECT seq, ?2 + row_number() OVER (ORDER BY seq) AS number FROM novelty_entries WHERE namespace = ?1
		) AS found WHERE namespace = ?1 AND novelty_entries.seq = found.seq`,
	newest: "SELECT seq, call FROM novelty_entries WHERE namespace = ? ORDER BY seq DESC LIMIT 1",
	insert: `INSERT INTO novelty_entries (namespace, seq, call, kind, id, embedding, at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, call) DO NOTHING`,
	entry: "SELECT call FROM novelty_entries WHERE namespace = ? AND seq = ?",
	// The caller has the embeddings of its own entries, from the last parameter on.
	// No trace has an id that is too long, which others have written.
	page: `SELECT seq, CAST(at AS REAL), kind, call,
			CASE WHEN length(id) <= 1024 THEN id END, CASE WHEN seq < ? THEN embedding END
		FROM novelty_entries WHERE namespace = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
	erase: `UPDATE novelty_entries SET embedding = NULL
		WHERE namespace = ? AND id = ? AND embedding IS NOT NULL AND seq < ?`,
	expire: "DELETE FROM novelty_entries WHERE namespace = ? AND at < ?",
	drop: "DELETE FROM novelty_head WHERE namespace = ?",
	delete: "DELETE FROM novelty_entries WHERE namespace = ? AND seq < ?",
	// Only before the first young entry: a time behind it that is too early is damaged.
	oldEnough: `SELECT max(seq) AS seq FROM novelty_entries
		WHERE namespace = ?1 AND seq >= ?2 AND seq < ifnull((SELECT min(seq) FROM novelty_entries
			WHERE namespace = ?1 AND seq BETWEEN ?2 AND ?3 AND at >= ?4), ?3 + 1)`,
};

const toBlob = (id) => (id === null ? null : Buffer.from(id));

function readRow([seq, at, kind, call, id, embedding]) {
	return { seq, at, kind, call, id: id === null ? null : Buffer.from(id).toString(), embedding };
}

class Namespace {
	#db;
	#sql;
	#schema;
	/** The version of the schema that was checked. */
	#checked;
	#name;
	#durable;
	#synchronous;

	constructor(db, { namespace, durable }) {
		this.#db = db;
		this.#name = namespace;
		this.#durable = durable;
		this.#schema = db.prepare("PRAGMA schema_version");
	}

	/** Returns a page whose `rows` are the entries after the position. */
	read(options) {
		const page = this.#transaction("BEGIN", () => {
			const head = this.#sql.head.get(this.#name);
			return head && this.#endsAt(head) && this.#answer(head, options);
		});
		// A namespace or an epoch must be written.
		return page || this.append({ ...options, entries: [], keepFrom: null });
	}

	/** Returns the header of the namespace; null if there is none. */
	header() {
		const head = this.#transaction("BEGIN", () => this.#sql.head.get(this.#name));
		return head ? JSON.parse(head.header) : null;
	}

	/** Returns the names of all namespaces, in order. */
	namespaces() {
		return this.#transaction("BEGIN", () => this.#sql.names.all().map(({ name }) => name));
	}

	append({ entries, keepFrom, ...options }) {
		// Forgotten data is erased durably before the call is answered.
		const removes = entries.some(({ kind }) => kind !== "add");
		this.#setSynchronous(removes || this.#durable ? "FULL" : "NORMAL");
		return this.#transaction("BEGIN IMMEDIATE", () => {
			const head = this.#head(options.header);
			if (head.header !== options.header) return this.#answer(head, options);
			if (!this.#endsAt(head)) this.#renew(head);
			const added = this.#add(head, entries);
			const answer = () => this.#answer(head, options, head.seq + 1 - added.length);
			let page = answer();
			if (!page) {
				this.#renew(head);
				for (const [index, entry] of added.entries())
					entry.seq = head.seq + 1 - added.length + index;
				page = answer();
			}
			this.#remove(head, added);
			if (keepFrom !== null) this.#trim(head, keepFrom, 2 * entries.length + 16);
			this.#update(head);
			return page;
		});
	}

	/** Returns the number of deleted entries. */
	forgetBefore({ before }) {
		return this.#change(this.#name, 0, (head) => {
			const { changes } = this.#sql.expire.run(head.namespace, before);
			if (changes > 0) this.#update(this.#renew(head));
			return changes;
		});
	}

	/** Returns whether there was a namespace of this name. */
	drop({ name }) {
		return this.#change(name, false, ({ namespace }) => {
			this.#sql.delete.run(namespace, Infinity);
			return this.#sql.drop.run(namespace).changes > 0;
		});
	}

	/** Changes a namespace and waits for the disk. Returns `none` if there is no such namespace. */
	#change(name, none, change) {
		this.#setSynchronous("FULL");
		return this.#transaction("BEGIN IMMEDIATE", () => {
			const head = this.#sql.head.get(name);
			return head ? change(head) : none;
		});
	}

	close() {
		this.#db.close();
	}

	#setSynchronous(level) {
		if (this.#synchronous === level) return;
		this.#db.exec(`PRAGMA synchronous = ${level}`);
		this.#synchronous = level;
	}

	#transaction(begin, run) {
		this.#db.exec(begin);
		try {
			this.#check();
			const result = run();
			this.#db.exec("COMMIT");
			return result;
		} catch (error) {
			// After some errors SQLite has rolled back already.
			if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
			throw error;
		}
	}

	/** Checks the schema, which others may have changed since, in the transaction that relies on it. */
	#check() {
		const { schema_version } = this.#schema.get();
		if (schema_version === this.#checked) return;
		checkSchema(this.#db);
		this.#checked = schema_version;
		this.#sql ??= Object.fromEntries(
			Object.entries(STATEMENTS).map(([name, sql]) => [name, this.#db.prepare(sql)]),
		);
		// Objects would take 1.5 times as long.
		this.#sql.page.setReturnArrays(true);
	}

	#head(header) {
		const head = this.#sql.head.get(this.#name);
		if (head) return head;
		this.#sql.create.run(this.#name, header, randomUUID());
		return this.#sql.head.get(this.#name);
	}

	/** Whether the newest entry is that of the head. */
	#endsAt(head) {
		return head.seq === (this.#sql.newest.get(head.namespace)?.seq ?? 0);
	}

	/** Starts a new epoch, and sets the head from the entries. Numbers them anew if others have deleted some. */
	#renew(head) {
		const find = () => this.#sql.ends.get(head.namespace);
		const { first, newest, count } = find();
		if (count < newest - first + 1)
			this.#sql.renumber.run(head.namespace, Math.max(newest, head.seq));
		const { first: oldest, newest: seq, at } = find();
		const epoch = randomUUID();
		return Object.assign(head, { epoch, seq: seq ?? 0, first: oldest ?? 1, at: at ?? 0 });
	}

	#update({ epoch, seq, first, at, namespace }) {
		this.#sql.update.run(epoch, seq, first, at, namespace);
	}

	#add(head, entries) {
		head.at = Math.max(head.at, Date.now());
		return entries.filter((entry) => {
			const { call, kind, id, embedding } = entry;
			const seq = head.seq + 1;
			const row = [head.namespace, seq, call, kind, toBlob(id), embedding, head.at];
			const { changes } = this.#sql.insert.run(...row);
			if (changes > 0) entry.seq = head.seq = seq;
			return changes > 0;
		});
	}

	/**
	 * Returns the page after a position; the first page without one, or if the store does not continue from it.
	 * Returns undefined if the namespace needs a new epoch, because an entry is missing.
	 */
	#answer(head, { header, after, limit }, own = head.seq + 1) {
		const { epoch, seq: newest, first } = head;
		const found = JSON.parse(head.header);
		const page = { header: found, epoch, head: newest, first };
		if (head.header !== header) return { ...page, reset: true, rows: [] };

		let start = first;
		if (after?.epoch === epoch && after.seq >= first) {
			if (after.seq > newest) return undefined;
			const { call } = this.#sql.entry.get(head.namespace, after.seq) ?? {};
			if (call !== after.call) return undefined;
			start = after.seq + 1;
		}
		const end = Math.min(start + limit - 1, newest);
		const rows = this.#sql.page.all(own, head.namespace, start, end).map(readRow);
		if (rows.length < end - start + 1) return undefined;
		return { ...page, reset: start === first, rows };
	}

	#remove(head, added) {
		for (const { kind, id, seq } of added)
			if (kind === "forget") this.#sql.erase.run(head.namespace, toBlob(id), seq);
			else if (kind === "clear") this.#deleteBefore(head, seq);
	}

	#trim(head, keepFrom, most) {
		const end = Math.min(head.first + most, head.seq) - 1;
		const old = Math.min(keepFrom, Date.now() - REPETITION_MS);
		const { seq } = this.#sql.oldEnough.get(head.namespace, head.first, end, old);
		if (seq !== null) this.#deleteBefore(head, seq + 1);
	}

	#deleteBefore(head, seq) {
		this.#sql.delete.run(head.namespace, seq);
		head.first = seq;
	}
}

module.exports = { Namespace };
