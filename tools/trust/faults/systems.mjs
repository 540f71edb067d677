/** Systems on which nothing can be written. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { root } from "../../lib/run.mjs";
import { valueIn } from "../lib/child.mjs";
import { CONFIGURATIONS, environment, rightScores } from "./configurations.mjs";
import { judge, probe, TRACES } from "./probe.mjs";

/** Scores; returns also which of these folders are writable, and how saving a snapshot fails. */
export async function score(scoring, folders) {
	const writable = folders.filter((folder) => {
		try {
			rmdirSync(mkdtempSync(`${folder}/trust-`));
			return true;
		} catch {
			return false;
		}
	});
	const found = await probe(scoring, TRACES);
	const scorer = new scoring.Scorer();
	const saving = scorer.save("/tmp/snapshot").catch(({ code }) => code);
	return { found, writable, saved: await saving };
}

/** Shell commands in a mount namespace of its own. */
const SETUPS = {
	"a file system that can only be read": `
for place in $(findmnt -rno TARGET); do
  case $place in /proc*|/sys*|/dev*) ;; *) mount -o remount,bind,ro "$place" ;; esac
done`,
	"no /tmp": `
mount --rbind "$0" /mnt
mount -t tmpfs -o ro,size=4k none /tmp
cd /mnt/__test__`,
};

/** What starts a command in a mount namespace, set up by a script that is given the checkout as `$0`. */
function mounted(setup) {
	const script = `set -e\nmount --make-rprivate /${setup}\nexec "$@"`;
	for (const space of [
		["unshare", "-m"],
		["unshare", "-rm"],
	]) {
		const under = [...space, "sh", "-c", script, root];
		const [command, ...args] = [...under, "true"];
		if (spawnSync(command, args).status === 0) return under;
	}
	return undefined;
}

async function on(what, { under, env, folders, saved }) {
	for (const configuration of CONFIGURATIONS) {
		const options = {
			...{ input: folders, under },
			env: { ...environment(configuration), ...env },
		};
		const value = await valueIn("faults/systems.mjs", "score", options);
		const { found, ...rest } = value;
		const outcome = judge(found, await rightScores(configuration));
		if (outcome !== "right") throw new Error(`${what}, ${configuration.name}: ${outcome}`);
		if (rest.writable.length > 0) throw new Error(`${what}: ${rest.writable} could be written to`);
		if (saved && rest.saved !== saved) throw new Error(`${what}: saving gave ${rest.saved}`);
	}
	return {
		what,
		tried: CONFIGURATIONS.map(({ name }) => name).join("; "),
		found: `right${saved ? `; save() rejects with ${saved}` : ""}`,
	};
}

export async function systems({ log }) {
	const rows = [];
	const nowhere = "/nonexistent";
	for (const [what, setup] of Object.entries(SETUPS)) {
		const under = mounted(setup);
		rows.push(
			under
				? await on(what, { under, folders: ["/tmp"], saved: "SNAPSHOT_IO" })
				: { what, tried: "not available here", found: "no mount namespaces" },
		);
	}
	const env = { HOME: nowhere, TMPDIR: nowhere, XDG_CACHE_HOME: nowhere };
	rows.push(await on("no home, no TMPDIR", { env, folders: [nowhere], under: [] }));
	const under = ["env", "-u", "HOME", "-u", "USER", "-u", "TMPDIR", "-u", "PATH"];
	rows.push(await on("HOME, USER, TMPDIR, PATH unset", { under, folders: [] }));
	for (const { what, found } of rows) log(`${what}: ${found}`);
	return rows;
}
