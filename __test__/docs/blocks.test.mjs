/** The blocks of code and the commands in the documentation compile and run. */
import assert from "node:assert/strict";
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
	...readdirSync(join(checkout, "docs")).map((name) => `docs/${name}`),
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

/** Tested by packages/stores/__test__/postgres/recipe.test.mjs. */
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

test("the health and the metrics of docs/operating.md are of one scorer, and recover without a call", async () => {
	const blocks = modules.filter(({ name }) => name.startsWith("docs/operating.md"));
	const code = blocks
		.map(({ code }) => code)
		.join("")
		.replace("new Scorer(", "new Scorer(options");
	assert.equal(blocks.length, 2);
	writeFileSync(
		join(folder, "operating.mjs"),
		`import { MyStore } from "./my-store.js";
import { trace } from "./prelude.mjs";
let isUp = true;
const store = new MyStore({ namespace: "health" });
const { read, append } = store;
const ifUp = (call) => (...values) => isUp ? call.apply(store, values) : Promise.reject(new Error("down"));
Object.assign(store, { read: ifUp(read), append: ifUp(append) });
const options = { novelty: "words", store };
let observe;
const instrument = { record() {}, addCallback() {} };
const counter = { addCallback: (callback) => { observe = callback; } };
metrics.setGlobalMeterProvider({
	getMeter: () => ({
		createHistogram: () => instrument,
		createObservableCounter: () => counter,
		createObservableGauge: () => instrument,
	}),
});
${code}
const found = [await health()];
isUp = false;
await scorer.evaluateValue(trace);
found.push(await health());
isUp = true;
// A store that could not be reached is not asked for a second.
while ((await health()) !== null) await new Promise((resolve) => setTimeout(resolve, 100));
observe({ observe: (count, { outcome }) => outcome === "answered" && found.push(count) });
console.log(JSON.stringify(found));
process.exit();`,
	);
	const { stdout } = await execute(process.execPath, ["operating.mjs"]);
	assert.deepEqual(JSON.parse(stdout), [null, "down", 1]);
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
