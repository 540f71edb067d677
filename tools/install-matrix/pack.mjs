/**
 * Bundles fixtures with webpack or Rspack, which read the same configuration:
 * node pack.mjs BUNDLER FOLDER OUT, with the bundler's entry point. Makes an ES module and a CommonJS
 * one.
 */
const [bundler, context, path] = process.argv.slice(2);
const { default: pack } = await import(bundler);

const PACKAGE = "@knowledgepulse/scoring";
/** The external entry points, as modules of a type. */
const externals = (type) =>
	Object.fromEntries(
		[PACKAGE, `${PACKAGE}/logs`, `${PACKAGE}/calibrate`].map((name) => [name, `${type} ${name}`]),
	);

const common = { mode: "production", target: "node20", context };
const configurations = [
	{
		...common,
		entry: "./logs.mjs",
		experiments: { outputModule: true },
		output: { path, filename: "logs.mjs", library: { type: "module" } },
		externals: externals("module"),
	},
	{
		...common,
		entry: "./logs.cjs",
		output: { path, filename: "logs.cjs" },
		externals: externals("commonjs"),
	},
];

const stats = await new Promise((resolve, reject) =>
	pack(configurations, (error, stats) => (error ? reject(error) : resolve(stats))),
);
console.log(stats.toString({ preset: "errors-warnings" }));
if (stats.hasErrors() || stats.hasWarnings()) process.exit(1);
