/**
 * Bundles fixtures with webpack or Rspack, which read the same configuration:
 * node pack.mjs BUNDLER FOLDER OUT, with the bundler's entry point. Makes an ES module and a CommonJS
 * one.
 */
const [bundler, context, path] = process.argv.slice(2);
const { default: pack } = await import(bundler);

const externals = /^@knowledgepulse\//;
const common = { mode: "production", target: "node20", context, externals };
const configurations = [
	{
		...common,
		entry: "./logs.mjs",
		experiments: { outputModule: true },
		output: { path, filename: "logs.mjs", library: { type: "module" } },
		externalsType: "module",
	},
	{
		...common,
		entry: "./logs.cjs",
		output: { path, filename: "logs.cjs" },
		externalsType: "commonjs",
	},
];

const stats = await new Promise((resolve, reject) =>
	pack(configurations, (error, stats) => (error ? reject(error) : resolve(stats))),
);
console.log(stats.toString({ preset: "errors-warnings" }));
if (stats.hasErrors() || stats.hasWarnings()) process.exit(1);
