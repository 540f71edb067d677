/** The blocks of code and the commands in the documentation compile and run. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import * as scoring from "@knowledgepulse/scoring";
import * as calibration from "@knowledgepulse/scoring/calibrate";
import * as logs from "@knowledgepulse/scoring/logs";
import { startPglite } from "../../packages/stores/__test__/support/pglite.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { checkout, furnish, noShell, programIn, read } from "./furnish.mjs";

const pages = [
	"README.md",
	...readdirSync(join(checkout, "docs")).map((name) => `docs/${name}`),
	...readdirSync(join(checkout, "packages")).map((name) => `packages/${name}/README.md`),
].filter((page) => page.endsWith(".md") && existsSync(join(checkout, page)));

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
const execute = programIn(folder, {
	DATABASE_URL: `postgres://${user}@${host}:${port}/postgres`,
});

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
