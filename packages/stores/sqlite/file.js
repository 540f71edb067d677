/** Opens the file: sets it up, and checks its application and schema. */
const { accessSync, constants, existsSync, readdirSync, realpathSync } = require("node:fs");
const { isBuiltin } = require("node:module");
const { basename, dirname, join } = require("node:path");

/**
 * Whether Node.js has an SQLite that suffices. The addon needs a process of its own: in it a C++ exception ends the process
 * when its thread is terminated, as all threads are when the process exits, or the worker ends that started them.
 */
const [MAJOR, MINOR] = process.versions.node.split(".").map(Number);
const HAS_SQLITE = isBuiltin("node:sqlite") && (MAJOR > 23 || (MAJOR === 22 && MINOR >= 16));

/** `kpnl`, the application id in the header of the file. */
const APPLICATION = 0x6b706e6c;
const SCHEMA = 1;

/** Primary result codes of SQLite. */
const CODES = { ERROR: 1, BUSY: 5, READONLY: 8, CORRUPT: 11, CANTOPEN: 14, AUTH: 23, NOTADB: 26 };
/** An entry beyond the head. */
const CONSTRAINT_PRIMARYKEY = 1555;
/** Errors of the memory that the processes share: open, size, lock, map. */
const SHARED_MEMORY = [4618, 4874, 5130, 5386];
const LOCAL_DISK = "write-ahead mode needs a local disk";
/** The longest path in bytes, without the 8 of `-journal`. */
const LONGEST_PATH = process.platform === "win32" ? Number.POSITIVE_INFINITY : 504;
/** The binding's error for an integer that is not safe. */
const OUT_OF_RANGE = "ERR_OUT_OF_RANGE";

const codeOf = (error) => (error?.errcode ?? 0) & 0xff;

/** An error with a code of `ScoringError`. */
class StoreError extends Error {
	constructor(code, message) {
		super(message);
		this.code = code;
	}
}

// An id is a BLOB because the binding ends a text at its first NUL.
const TABLES = `
CREATE TABLE novelty_head (
	namespace INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	header TEXT NOT NULL CHECK (json_valid(header)),
	epoch TEXT NOT NULL,
	seq INTEGER NOT NULL,
	first INTEGER NOT NULL,
	at INTEGER NOT NULL
) STRICT;
CREATE TABLE novelty_entries (
	namespace INTEGER NOT NULL REFERENCES novelty_head,
	seq INTEGER NOT NULL,
	call TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('add', 'forget', 'clear')),
	id BLOB,
	embedding BLOB CHECK (length(embedding) % 4 = 0),
	at INTEGER NOT NULL,
	PRIMARY KEY (namespace, seq),
	UNIQUE (namespace, call)
) STRICT;
CREATE INDEX novelty_entries_id ON novelty_entries (namespace, id)
	WHERE id IS NOT NULL AND embedding IS NOT NULL;
PRAGMA application_id = ${APPLICATION};
PRAGMA user_version = ${SCHEMA};`;

const HEADER = `SELECT application_id AS application, user_version AS schema,
	(SELECT count(*) FROM sqlite_schema) AS count FROM pragma_application_id, pragma_user_version`;

/** Returns whether the file has the tables; false for a new file. Throws for the file of another application. */
function hasTables(db) {
	// One statement, because another process may be creating them.
	const { application, schema, count } = db.prepare(HEADER).get();
	if (application === APPLICATION && schema === SCHEMA) return true;
	if (application === APPLICATION)
		throw new StoreError(
			"STORE_MISMATCH",
			`the store has schema ${schema}, this package knows ${SCHEMA}`,
		);
	if (application === 0 && schema === 0 && count === 0) return false;
	const isDump = application === 0 && db.prepare(`${OBJECTS} AND name = 'novelty_head'`).get();
	throw new StoreError(
		"STORE_MISMATCH",
		isDump
			? `the file lacks what a dump leaves out: PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${SCHEMA}`
			: "the file belongs to another application",
	);
}

// Without the tables of ANALYZE, and the indexes that SQLite makes for the tables.
const OBJECTS = `SELECT type, name, sql FROM sqlite_schema
	WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'sqlite!_stat_' ESCAPE '!'`;

/** Throws unless the schema is that of the tables. Triggers or views could run anything, for ever. */
function checkSchema(db) {
	const objectsOf = (one) => Array.from(one.prepare(OBJECTS).all(), (row) => JSON.stringify(row));
	const model = new (binding())(":memory:");
	model.exec(TABLES);
	const expected = objectsOf(model);
	model.close();
	const found = objectsOf(db);
	const other = found.find((row) => !expected.includes(row));
	const missing = expected.find((row) => !found.includes(row));
	if (other ?? missing) {
		const { type, name } = JSON.parse(other ?? missing);
		const message = `the store ${other ? "has a foreign" : "lacks its"} ${type} ${name}`;
		throw new StoreError("INVALID_STORE", message);
	}
}

/** Creates the tables in a new file, and configures the connection. */
function setUp(db) {
	const isNew = !hasTables(db);
	if (isNew) db.exec("PRAGMA page_size = 8192");
	// In write-ahead mode, readers and the writer do not wait for one another.
	const { journal_mode } = db.prepare("PRAGMA journal_mode = WAL").get();
	if (journal_mode !== "wal") throw new StoreError("STORE_UNAVAILABLE", LOCAL_DISK);
	// Forgotten data is overwritten. Checkpoints wait for the disk, so they are rare and write up to 32 MB.
	db.exec("PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 4000");
	// On macOS, syncing would otherwise leave the last writes in the drive's cache. No effect elsewhere.
	db.exec(`PRAGMA fullfsync = ON; PRAGMA journal_size_limit = ${64 << 20}`);
	if (!isNew) return;
	db.exec("BEGIN IMMEDIATE");
	// Another process may have been first.
	if (!hasTables(db)) db.exec(TABLES);
	db.exec("COMMIT");
}

/** Names the addons of SQLite, for tools that look for files in the source. Nothing calls it. */
function _addons() {
	readdirSync(join(__dirname, "../../../@photostructure/sqlite/prebuilds"));
}

const binding = () => require(HAS_SQLITE ? "node:sqlite" : "@photostructure/sqlite").DatabaseSync;

/** Returns the open file. Never waits: throws SQLite's error if the file is locked. */
function openFile(path) {
	const db = new (binding())(path, { timeout: 0 });
	try {
		setUp(db);
	} catch (error) {
		db.close();
		throw error;
	}
	return db;
}

/** Returns why a file cannot be opened or written, if its place or its permissions say it. */
function reasonOf(path) {
	const folder = dirname(path);
	if (!existsSync(folder)) return `: there is no folder ${folder}`;
	const length = Buffer.byteLength(join(realpathSync(folder), basename(path)));
	if (length > LONGEST_PATH)
		return `: its path has ${length} bytes, expected at most ${LONGEST_PATH}`;
	for (const place of [path, `${path}-wal`, `${path}-shm`, folder])
		try {
			accessSync(place, constants.W_OK);
		} catch (error) {
			const kind = place === folder ? "folder" : "file";
			if (error.code !== "ENOENT") return `: the ${kind} ${place} is not writable (${error.code})`;
		}
	return "";
}

/** Returns the code, message and cause of an error for the caller. */
function describe(path, error) {
	const { code, message } = error;
	// Statements of the addon have the primary code as `errcode`.
	const errcode = error.sqliteExtendedCode ?? error.errcode;
	if (error instanceof StoreError) return { code, message };
	const isDamaged =
		// A statement fails where the schema has been changed.
		[CODES.ERROR, CODES.CORRUPT, CODES.AUTH, CODES.NOTADB].includes(codeOf(error)) ||
		errcode === CONSTRAINT_PRIMARYKEY ||
		code === OUT_OF_RANGE;
	const isClosed = [CODES.READONLY, CODES.CANTOPEN].includes(codeOf(error));
	const isRemote = SHARED_MEMORY.includes(errcode);
	const reason = isRemote ? `: ${LOCAL_DISK}` : isClosed ? reasonOf(path) : "";
	return {
		code: isDamaged ? "INVALID_STORE" : "STORE_UNAVAILABLE",
		message: message + reason,
		cause: { message, errcode, code },
	};
}

module.exports = { CODES, HAS_SQLITE, StoreError, checkSchema, codeOf, describe, openFile };
