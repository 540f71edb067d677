/** The blocks of code and the commands in the documentation compile and run. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as scoring from "@knowledgepulse/scoring";
import * as calibration from "@knowledgepulse/scoring/calibrate";
import * as logs from "@knowledgepulse/scoring/logs";
import { startPglite } from "../../packages/stores/__test__/support/pglite.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { compile } from "../support/typescript.mjs";
import { checkout, furnish, noShell, programIn, read } from "./furnish.mjs";

const pages = [
	"README.md",
	...readdirSync(join(checkout, "docs"), { recursive: true }).map((name) => `docs/${name}`),
	...readdirSync(join(checkout, "packages")).map((name) => `packages/${name}/README.md`),
].filter((page) => page.endsWith(".md") && existsSync(join(checkout, page)));

/** The blocks of a language, with their places. */
const blocksIn = (language) =>
	pages.flatMap((page) => {
		const text = read(page);
		const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"));
		return [...blocks].map(({ 1: code, index }) => ({
			name: `${page}:${text.slice(0, index).split("\n").length}`,
			code,
		}));
	});

const modules = blocksIn("(?:js|ts)");

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

function compileBlocks() {
	copyFileSync(join(checkout, "__test__/docs/prelude.mts"), join(folder, "prelude.mts"));
	for (const [index, { code }] of modules.entries())
		writeFileSync(join(folder, `${index}.mts`), moduleOf(code));
	writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
	const { noEmit, ...options } = JSON.parse(read("__test__/tsconfig.json")).compilerOptions;
	return compile(folder, { ...options, skipLibCheck: true }).split("\n");
}

const folder = temporaryFolder({ after });
furnish(folder);
const problems = compileBlocks();
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

/** Fails unless a file is there and has the anchor. */
function assertLeads(path, anchor, link) {
	assert.ok(existsSync(join(checkout, path)), link);
	if (anchor) assert.ok(anchorsOf(read(path)).includes(anchor), link);
}

/** The files of the repository, but for data. */
const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
	cwd: checkout,
	encoding: "utf8",
})
	.split("\n")
	.filter(
		(path) => /\.(md|m?js|m?ts|rs|py|yml|sql)$/.test(path) && existsSync(join(checkout, path)),
	);

/** Runs a command line; a gate may find too few good runs. */
const shell = (command) =>
	execute("bash", ["-c", command.includes("--min-share") ? `${command} || test $? = 3` : command]);

/** Runs modules one after another in one process; returns the error of each that fails. */
async function errorsOf(indices) {
	const program = `import { writeFileSync } from "node:fs";
const errors = {};
for (const index of [${indices}])
	await import(\`./\${index}.mjs\`).catch(({ stack }) => {
		errors[index] = stack;
	});
writeFileSync("errors.json", JSON.stringify(errors));
// Connections of an example may stay open.
process.exit();`;
	await execute(process.execPath, ["--input-type=module", "-e", program]);
	return JSON.parse(readFileSync(join(folder, "errors.json"), "utf8"));
}

const isTest = ({ code }) => code.includes("node:test");

/** Modules after which others can run in the same process. */
const isShared = (block) => !isTest(block) && !block.code.includes("configure(");

describe("the documentation", () => {
	let errors;
	before(async () => {
		errors = await errorsOf([...modules.keys()].filter((index) => isShared(modules[index])));
	});

	for (const [index, block] of modules.entries())
		test(`has code at ${block.name} that compiles in strict mode and runs`, async () => {
			const own = problems.filter((line) => line.startsWith(`${index}.mts`));
			assert.deepEqual(own, [], moduleOf(block.code));
			if (isTest(block)) await execute(process.execPath, [`${index}.mjs`]);
			else if (isShared(block)) assert.equal(errors[index], undefined);
			else assert.deepEqual(await errorsOf([index]), {});
		});

	for (const page of tracked.filter((path) => path.endsWith(".md")))
		test(`has links that lead somewhere in ${page}`, () => {
			for (const [, link] of read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
				const [path, anchor] = link.split("#");
				assertLeads(path === "" ? page : join(dirname(page), path), anchor, link);
			}
		});

	test("has pages for contributors that name files that there are", () => {
		for (const page of pages.filter((page) => page.startsWith("docs/dev/")))
			for (const [, path] of read(page).matchAll(
				/`((?:lib|src|crates|packages|tools|__test__)\/[\w./-]+)`/g,
			))
				assert.ok(existsSync(join(checkout, path)), `${page}: ${path}`);
	});

	test("has the pages that files name", () => {
		for (const path of tracked)
			for (const [link, page, anchor] of read(path).matchAll(
				/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g,
			))
				assertLeads(page, anchor, `${path}: ${link}`);
	});
});

describe("the documentation", { skip: noShell }, () => {
	const pattern =
		/^(?:\$ )?((?:.* \| )?(?:kp-score|npx @knowledgepulse\/scoring-cli|node examples\/) ?.*)$/gm;
	/** Each command, with its last place. */
	const places = new Map(
		blocksIn("(?:sh|text)").flatMap(({ name, code }) =>
			[...code.matchAll(pattern)].map(([, command]) => [command.replace(/ +#.*/, ""), name]),
		),
	);
	for (const [command, place] of places)
		test(`has a command at ${place} that works: ${command}`, () => shell(command));
});
