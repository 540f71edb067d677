/** Calibration: simulated labels, of which the truth is known. */
import { main } from "./lib/main.mjs";
import { cargoTests } from "./lib/rust.mjs";

export const title = "Calibration";

export function run({ log }) {
	log("calibration: simulated labels, for some ten minutes");
	const passed = cargoTests(
		[
			...["test", "--release", "--package", "knowledgepulse-calibrate"],
			...["--test", "simulation"],
		],
		{ KP_REPETITIONS: "100" },
	);
	return [
		{
			what: "simulated labels: known weights, noise, random ones",
			tried: "100 or 200 repetitions each",
			found: `${passed} tests pass`,
		},
	];
}

await main(import.meta.url, { title, run });
