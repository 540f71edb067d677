/** The blocks of code and the commands in the documentation compile and run. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as scoring from "@knowledgepulse/scoring";
import * as calibration from "@knowledgepulse/scoring/calibrate";
import * as logs from "@knowledgepulse/scoring/logs";
import { traces } from "../../examples/traces.mjs";
import { startPglite } from "../../packages/stores/__test__/support/pglite.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const checkout = fileURLToPath(new URL("../..", import.meta.url));
const read = (...path) => readFileSync(join(checkout, ...path), "utf8");

const pages = [
	"README.md",
	...readdirSync(join(checkout, "docs")).map((name) => `docs/${name}`),
	...readdirSync(join(checkout, "packages")).map((name) => `packages/${name}/README.md`),
].filter((page) => /(?<!packages\/README)\.md$/.test(page) && !page.includes("README.md/"));

/** The blocks of a language, each with its place. */
const blocksIn = (language) =>
	pages.flatMap((page) => {
		const text = read(page);
		const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"));
		return [...blocks].map(({ 1: code, index }) => ({
			name: `${page}:${text.slice(0, index).split("\n").length}`,
			code,
		}));
	});

/** What another test runs: packages/stores/__test__/postgres/recipe.test.mjs. */
const isRunElsewhere = ({ code }) => code.includes("client.query(");

const modules = blocksIn("(?:js|ts)").filter((block) => !isRunElsewhere(block));

const provided = [
	...Object.keys({ ...scoring, ...logs, ...calibration }),
	...[...read("__test__/docs/prelude.mts").matchAll(/^export (?:const |\{ )(\w+)/gm)].map(
		([, name]) => name,
	),
];

/** The names that a module declares or imports. */
function declaredIn(code) {
	const lists = code.matchAll(/^(?:import|const|let) (?:type )?[{[]([^}\]]*)[}\]]/gm);
	const single = code.matchAll(/^(?:const|let|import|class|(?:async )?function\*?) (\w+)/gm);
	return [
		...[...lists].flatMap(([, list]) => list.match(/\w+/g)),
		...[...single].map(([, name]) => name),
	];
}

/** A block as a module. */
function moduleOf(code) {
	// An object on its own.
	const text = code.startsWith("{") ? `export default ${code}` : code;
	const declared = declaredIn(text);
	const used = provided.filter(
		(name) => !declared.includes(name) && RegExp(`\\b${name}\\b`).test(text),
	);
	const imports = used.length > 0 ? `import { ${used.join(", ")} } from "./prelude.mjs";\n` : "";
	return `${imports}${text}\nexport {};\n`;
}

/** Fills a folder with the logs, programs and packages that the documentation speaks of. */
function furnish(folder) {
	const lines = traces.map((trace, index) => {
		const metadata = { ...trace.metadata, session_id: String(index % 4) };
		return `${JSON.stringify({ ...trace, id: `kp:trace:${index + 32}`, metadata })}\n`;
	});
	for (const name of ["runs", "traces", "before", "after", "airline", "a"])
		writeFileSync(join(folder, `${name}.jsonl`), lines.join(""));
	writeFileSync(join(folder, "b.json"), lines[0]);
	mkdirSync(join(folder, "runs"));
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
	// npx is given options and the name of the package first.
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
	for (const scope of ["@types", "@opentelemetry", "@ai-sdk", "@electric-sql"])
		link(join("node_modules", scope), scope);
	link(".", "@knowledgepulse/scoring");
	for (const name of ["cli", "otel", "stores"])
		link(`packages/${name}`, `@knowledgepulse/scoring-${name}`);
	// As docs/migration.md has it.
	link("packages/transformers", "@huggingface/transformers");
}

function compile(folder) {
	copyFileSync(join(checkout, "__test__/docs/prelude.mts"), join(folder, "prelude.mts"));
	for (const [index, { code }] of modules.entries())
		writeFileSync(join(folder, `${index}.mts`), moduleOf(code));
	const { noEmit, ...compilerOptions } = JSON.parse(read("__test__/tsconfig.json")).compilerOptions;
	const config = {
		compilerOptions: { ...compilerOptions, skipLibCheck: true },
		include: ["*.mts"],
	};
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
	const { bin } = JSON.parse(read("node_modules/typescript/package.json"));
	const compiler = join(checkout, "node_modules/typescript", bin.tsc);
	return spawnSync(process.execPath, [compiler, "-p", "."], { cwd: folder, encoding: "utf8" })
		.stdout;
}

const folder = temporaryFolder({ after });
furnish(folder);
const problems = compile(folder).split("\n");
const database = await startPglite();
after(() => database.stop());
const { host, port, user } = database.config;
const env = {
	...process.env,
	DATABASE_URL: `postgres://${user}@${host}:${port}/postgres`,
	PATH: [join(folder, "bin"), dirname(process.execPath), process.env.PATH].join(delimiter),
};

const noShell = process.platform === "win32" && "commands are for a POSIX shell";

/** The anchors of the headings of a page. */
const anchorsOf = (text) =>
	[...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
		heading
			.toLowerCase()
			.replaceAll(/[^\w -]/g, "")
			.replaceAll(" ", "-"),
	);

/** Runs a command line; a gate may find too few good runs. */
const shell = (command) =>
	execute("bash", ["-c", command.includes("--min-share") ? `${command} || test $? = 3` : command]);

/** Runs a program in the folder. */
const execute = (command, args) => promisify(execFile)(command, args, { cwd: folder, env });

describe("the documentation", { concurrency: 2 }, () => {
	for (const [index, { name, code }] of modules.entries())
		test(`has code at ${name} that compiles in strict mode and runs`, async () => {
			const own = problems.filter((line) => line.startsWith(`${index}.mts`));
			assert.deepEqual(own, [], moduleOf(code));
			// Connections of an example may stay open.
			const end = code.includes("node:test") ? "" : "process.exit();";
			await execute(process.execPath, [
				"--input-type=module",
				"-e",
				`await import("./${index}.mjs"); ${end}`,
			]);
		});
});

describe("the documentation", { concurrency: 2 }, () => {
	const recipes = readdirSync(join(checkout, "examples/recipes"));
	const commands = recipes.flatMap((name) => {
		const file = `examples/recipes/${name}`;
		if (name.endsWith(".mjs")) return [`node ${file}`];
		if (name.endsWith(".py")) return [`python3 ${file} runs.jsonl`];
		return [...read(file).matchAll(/run: (npx .*)/g)].map(([, command]) => command);
	});
	for (const command of commands)
		test(`has a recipe that works: ${command}`, { skip: noShell }, () => shell(command));

	for (const page of pages)
		test(`has links that lead somewhere in ${page}`, () => {
			for (const [, link] of read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
				const [path, anchor] = link.split("#");
				const target = path === "" ? page : join(dirname(page), path);
				assert.ok(existsSync(join(checkout, target)), link);
				if (anchor) assert.ok(anchorsOf(read(target)).includes(anchor), link);
			}
		});
});

describe("the documentation", { skip: noShell }, () => {
	const commands = blocksIn("(?:sh|text)").flatMap(({ name, code }) =>
		[
			...code.matchAll(
				/^(?:\$ )?((?:.* \| )?(?:kp-score|npx @knowledgepulse\/scoring-cli|node examples\/) ?.*)$/gm,
			),
		].map(([, command]) => ({ name, command })),
	);
	for (const { name, command } of commands)
		test(`has a command at ${name} that works: ${command}`, () =>
			shell(command.replace(/ #.*/, "")));
});
