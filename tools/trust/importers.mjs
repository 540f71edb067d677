/** Importers: recorded logs, damaged in thousands of ways, and logs of extreme sizes. */
import { main } from "./lib/main.mjs";
import { outputOf } from "./lib/rust.mjs";

export const title = "Importers";

/** How many mutations each recorded log has. */
const MUTATIONS = { short: 60, full: 1000 };

/** It takes a few minutes; a test that hangs is ended. */
const TIMEOUT_MS = 3_600_000;

const count = (number) => number.toLocaleString("en");
const sum = (values) => values.reduce((total, value) => total + value, 0);

export async function run({ short, log }) {
	const mutations = short ? MUTATIONS.short : MUTATIONS.full;
	log(`importers: ${mutations} mutations of each recorded log`);
	const command = [
		...["test", "--release", "--package", "knowledgepulse-import"],
		...["--test", "mutations", "--test", "limits"],
	];
	const output = outputOf("cargo", command, {
		env: { ...process.env, KP_MUTATIONS: String(mutations) },
		timeout: TIMEOUT_MS,
	});
	const lines = [...output.matchAll(/^mutations (\{.*\})$/gm)];
	const formats = lines.map(([, figures]) => JSON.parse(figures));
	if (formats.length === 0) throw new Error(`no figures in\n${output}`);
	const total = (name) => count(sum(formats.map((format) => format[name])));
	const errors = formats.flatMap((format) => Object.values(format.errors));
	const longest = Math.max(...formats.map((format) => format.longest));
	const came = `${total("traces")} traces that fit, ${count(sum(errors))} typed errors`;
	const slowest = `${Math.ceil(longest * 1000)} ms at most`;
	return [
		{
			what: `${total("samples")} recorded logs, each damaged in ${count(mutations)} ways`,
			tried: `${total("logs")} logs, whole and in pieces`,
			found: `${came}, ${slowest}`,
		},
		{
			what: "logs that are deep, wide, long or endless",
			tried: "a million members, 200,000 calls, 50,000 spans, 1,000 sessions",
			found: "linear time, nothing lost",
		},
	];
}

await main(import.meta.url, { title, run });
