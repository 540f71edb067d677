import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { traces } from "../../examples/traces.mjs";

export const checkout = fileURLToPath(new URL("../..", import.meta.url));

export const read = (...path) => readFileSync(join(checkout, ...path), "utf8");

/** Fills a folder with the logs, programs and packages in the documentation. */
export function furnish(folder) {
	const lines = traces.map((trace, index) => {
		const metadata = { ...trace.metadata, session_id: String(index % 4) };
		return `${JSON.stringify({ ...trace, id: `kp:trace:${index + 32}`, metadata })}\n`;
	});
	for (const name of ["runs", "traces", "before", "after", "airline", "a", "part1", "part2"])
		writeFileSync(join(folder, `${name}.jsonl`), lines.join(""));
	writeFileSync(join(folder, "b.json"), lines[0]);
	for (const name of ["runs", "backfill/kept/shop"])
		mkdirSync(join(folder, name), { recursive: true });
	writeFileSync(join(folder, "backfill/kept/shop/2026-01.jsonl"), lines.join(""));
	writeFileSync(join(folder, "runs/a.jsonl"), lines.join(""));
	const labels = lines.map((_, index) => `kp:trace:${index + 32},${index % 2}\n`);
	writeFileSync(join(folder, "labels.csv"), `id,label\n${labels.join("")}`);
	for (const name of ["bin", "node_modules/@huggingface", "node_modules/@knowledgepulse"])
		mkdirSync(join(folder, name), { recursive: true });
	const session = read("examples/session.jsonl");
	const key = /"sessionId":"(\w+)/.exec(session)[1];
	for (const [index, name] of [".", "sessions/a", "sessions/b", "sessions/c", "logs"].entries()) {
		mkdirSync(join(folder, name), { recursive: true });
		const other = session.replaceAll(key, key.replace(/^./, String(index)));
		writeFileSync(join(folder, name, "session.jsonl"), other);
	}
	// Sessions of Claude Code in a home folder.
	const project = join(folder, ".claude/projects/-home-me-shop");
	cpSync(join(folder, "sessions"), project, { recursive: true });
	writeFileSync(join(project, "session.jsonl"), session);
	cpSync(join(checkout, "examples"), join(folder, "examples"), { recursive: true });
	const store = pathToFileURL(
		join(checkout, "packages/stores/__test__/conformance/memory-store.mjs"),
	);
	writeFileSync(
		join(folder, "my-store.js"),
		`import { MemoryStore } from "${store}";
const namespaces = new Map();
export class MyStore extends MemoryStore {
	constructor({ namespace }) {
		super({ namespaces, namespace });
	}
}`,
	);
	const program = join(checkout, "packages/cli/bin/kp-score.js");
	// The first arguments of npx are options and the package.
	const programs = {
		"kp-score": "",
		npx: 'until [ "$1" = "@knowledgepulse/scoring-cli" ]; do shift; done; shift\n',
	};
	for (const [name, skip] of Object.entries(programs))
		writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${skip}exec node "${program}" "$@"\n`, {
			mode: 0o755,
		});
	const types = `import type { NoveltyStore } from "@knowledgepulse/scoring";
export const MyStore: new (options: { url: string; namespace: string }) => NoveltyStore;`;
	writeFileSync(join(folder, "my-store.d.ts"), types);
	const link = (target, place) =>
		symlinkSync(join(checkout, target), join(folder, "node_modules", place), "junction");
	for (const name of readdirSync(join(checkout, "node_modules")).filter((name) => /^\w/.test(name)))
		link(join("node_modules", name), name);
	for (const scope of [
		"@types",
		"@duckdb",
		"@opentelemetry",
		"@ai-sdk",
		"@electric-sql",
		"@secretlint",
	])
		link(join("node_modules", scope), scope);
	link(".", "@knowledgepulse/scoring");
	for (const name of ["cli", "otel", "stores"])
		link(`packages/${name}`, `@knowledgepulse/scoring-${name}`);
	// As in docs/install.md.
	link("packages/transformers", "@huggingface/transformers");
}

export const noShell = process.platform === "win32" && "commands are for a POSIX shell";

/** Returns a function that runs a program in a furnished folder, which is the home folder too. */
export function programIn(folder, env = {}) {
	const PATH = [join(folder, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter);
	const options = { cwd: folder, env: { ...process.env, HOME: folder, ...env, PATH } };
	return (command, args) => promisify(execFile)(command, args, options);
}
