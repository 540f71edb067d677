/**
 * Bundles both fixtures with webpack or Rspack, which read the same configuration: node pack.mjs BUNDLER OUT, with the
 * bundler's entry point.
 */
import { resolve } from "node:path";

const [bundler, out] = process.argv.slice(2);
const { default: pack } = await import(bundler);

const configuration = (filename, externalsType, more) => ({
	mode: "production",
	target: "node20",
	entry: `./${filename}`,
	externals: /^@knowledgepulse\//,
	externalsType,
	output: { path: resolve(out), filename, ...more },
	experiments: { outputModule: Boolean(more) },
});
const configurations = [
	configuration("score.mjs", "module", { library: { type: "module" } }),
	configuration("score.cjs", "commonjs"),
];

const stats = await new Promise((resolve, reject) =>
	pack(configurations, (error, stats) => (error ? reject(error) : resolve(stats))),
);
console.log(stats.toString({ preset: "errors-warnings" }));
if (stats.hasErrors() || stats.hasWarnings()) process.exit(1);
