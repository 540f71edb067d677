/**
 * Bundles fixtures with webpack or Rspack, which read the same configuration:
 * node pack.mjs BUNDLER FOLDER OUT, with the bundler's entry point. Makes an ES module and a CommonJS
 * one.
 */
const [bundler, context, path] = process.argv.slice(2);
const { default: pack } = await import(bundler);

const common = { mode: "production", target: "node20", context };
const configurations = [
	{
		...common,
		entry: "./score.mjs",
		experiments: { outputModule: true },
		output: { path, filename: "score.mjs", library: { type: "module" } },
		externals: { "@knowledgepulse/scoring": "module @knowledgepulse/scoring" },
	},
	{
		...common,
		entry: "./score.cjs",
		output: { path, filename: "score.cjs" },
		externals: { "@knowledgepulse/scoring": "commonjs @knowledgepulse/scoring" },
	},
];

const stats = await new Promise((resolve, reject) =>
	pack(configurations, (error, stats) => (error ? reject(error) : resolve(stats))),
);
console.log(stats.toString({ preset: "errors-warnings" }));
if (stats.hasErrors() || stats.hasWarnings()) process.exit(1);
